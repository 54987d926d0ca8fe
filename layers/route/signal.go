package route

// What routers have in common: which layers take part, which error is meant,
// and what is done to it on its way.

import (
	"fmt"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/kalmarz/kalmarz/layers/grad"
	"github.com/kalmarz/kalmarz/layers/option"
)

const epsilon = 1e-6

func errorOption() option.Option {
	return option.Option{Name: "error", Kind: option.Word, Default: "written", Choices: []string{"written", "bare"},
		Help: "which error: written = u, gated by β (as published results); bare = r = v - S̃ᵀk (as the paper's text)", Source: "2607.07953"}
}

func wayOptions() option.Set {
	return option.Set{
		{Name: "norm", Kind: option.Word, Default: "none", Choices: []string{"none", "rms"}, Help: "what is routed as it is, or at unit root mean square"},
		{Name: "detach", Kind: option.Bool, Default: false, Help: "no gradient into the layer that what is routed comes from"},
	}
}

func hostsOption() option.Option {
	return option.Option{Name: "hosts", Kind: option.Word, Default: "delta", Choices: []string{"delta", "all"},
		Help: "layers that take part: those of the delta rule, or every one"}
}

// errorName is the offer that the option error means.
func errorName(o option.Values) string {
	if o.Word("error") == "bare" {
		return "r"
	}
	return "u"
}

// correcting lists the layers that offer the error of that name, which must be
// at least n.
func (s Layers) correcting(name string, n int) (layers []int, err error) {
	for i, h := range s.Hosts {
		if h.Error && name == "r" && !h.Bare {
			return nil, fmt.Errorf("error = bare: layer %d, %s, gates what it erases apart from what it writes and has no such error: take error = written", i+1, h.Mixer)
		}
		if h.Error {
			layers = append(layers, i)
		}
	}
	if len(layers) < n {
		return nil, fmt.Errorf("needs %d or more layers of the delta rule, whose write errors it routes: %s has %d", n, s.mixers(), len(layers))
	}
	return layers, nil
}

// mixers names the stack in an error.
func (s Layers) mixers() string {
	var names []string
	for _, h := range s.Hosts {
		names = append(names, h.Mixer)
	}
	if len(names) > 6 {
		names = append(names[:5], "...")
	}
	return "the stack " + strings.Join(names, ",")
}

// hosts lists the layers that take part by the option hosts.
func (s Layers) hosts(o option.Values) (layers []int, err error) {
	if o.Word("hosts") == "all" {
		for i := range s.Hosts {
			layers = append(layers, i)
		}
		return layers, nil
	}
	if layers, err = s.correcting("u", 1); err != nil {
		return nil, fmt.Errorf("%w; hosts = all takes every layer", err)
	}
	return layers, nil
}

// detached cuts the gradient of what a router reads, if the option says so.
func detached(o option.Values, x *Node) *Node {
	if o.Bool("detach") {
		return StopGradient(x)
	}
	return x
}

// normed applies the option norm, over the last axis.
func normed(o option.Values, x *Node) *Node {
	if o.Word("norm") == "rms" {
		x = grad.RMSNorm(x, nil, epsilon)
	}
	return x
}

// share is ‖x‖/‖y‖ over the last axis of both, kept: how much is added to what.
func share(x, y *Node) *Node {
	return Sqrt(Div(grad.SumSquares(x), AddScalar(grad.SumSquares(y), 1e-30)))
}
