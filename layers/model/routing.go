package model

// Routing between the layers of a stack (package route). A pass over the graph
// keeps what layers offer to the router, lets it change what they write, and
// lets it add to the residual stream after each block.

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/mixer"
	"github.com/kalmarz/kalmarz/layers/param"
	"github.com/kalmarz/kalmarz/layers/route"
)

// setRoute builds the router for the mixers, and widens blocks if it asks so.
func (m *Model) setRoute() error {
	name := m.Route
	if name == "" {
		name = "none"
	}
	layers := route.Layers{Width: m.Width}
	for i, l := range m.mixers {
		k, err := mixer.Find(m.Layers[i].Mixer)
		if err != nil {
			return err
		}
		heads, width := l.Value()
		offered := mixer.ErrorOf(k, l)
		layers.Hosts = append(layers.Hosts, route.Host{Mixer: k.Name, Heads: heads, Value: width,
			Error: offered != mixer.NoError, Bare: offered == mixer.WrittenAnd})
	}
	var err error
	if m.router, err = route.New(name, layers, m.RouteOptions); err != nil {
		return err
	}
	if w, ok := m.router.(route.Widener); ok {
		for i := range m.mixers {
			if err := m.widen(i, w.Extra(i)); err != nil {
				return fmt.Errorf("route %s: layer %d: %w", name, i+1, err)
			}
		}
	}
	return nil
}

// pass is one way through the stack: what layers offered so far, and who else
// listens.
type pass struct {
	router route.Router
	offers []map[string]*Node
	of     func(layer int) func(name string, value *Node)
}

func (m *Model) pass(of func(layer int) func(string, *Node)) *pass {
	return &pass{router: m.router, of: of}
}

// site is a layer as the router sees it.
func (p *pass) site(s param.Scope, i int) route.Site {
	at := route.Site{Scope: s.In(fmt.Sprintf("layers/%d", i)).In("route"), Layer: i, Offers: p.offers, Show: func(string, func() *Node) {}}
	if p.of != nil {
		if show := p.of(i); show != nil {
			at.Show = func(name string, value func() *Node) { show(name, value()) }
		}
	}
	return at
}

// listen sets the hooks of the next layer, i.
func (p *pass) listen(c *mixer.Context, s param.Scope, i int) {
	offered := map[string]*Node{}
	p.offers = append(p.offers, offered)
	var other func(string, *Node)
	if p.of != nil {
		other = p.of(i)
	}
	c.Offer = func(name string, value *Node) {
		if p.router.Wants(i, name) {
			offered[name] = value
		}
		if other != nil {
			other(name, value)
		}
	}
	if other == nil {
		c.Wants = func(name string) bool { return p.router.Wants(i, name) }
	}
	c.Write = func(v *Node) *Node { return p.router.Write(p.site(s, i), v) }
}

// leave ends block i.
func (p *pass) leave(s param.Scope, i int, h *Node) *Node {
	return p.router.Leave(p.site(s, i), h)
}

// repeat tells that the residual stream now holds its rows n times over.
func (p *pass) repeat(n int) {
	p.each(func(x *Node) *Node {
		d := x.Shape().Dimensions
		all := BroadcastToDims(InsertAxes(x, 0), append([]int{n}, d...)...)
		return Reshape(all, append([]int{n * d[0]}, d[1:]...)...)
	})
}

// each changes everything that was offered.
func (p *pass) each(f func(*Node) *Node) {
	for _, offered := range p.offers {
		for name, x := range offered {
			offered[name] = f(x)
		}
	}
}
