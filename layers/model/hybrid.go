package model

// Hybrid is a published stack of several mixers.
type Hybrid struct {
	Name, Doc string
	Pattern   string
	Options   map[string]map[string]string // of mixers, by mixer
	Source    string
}

// Hybrids lists the published stacks; a new one joins with its line here.
var Hybrids = []*Hybrid{
	{"eth", "two delta layers to one of attention, gated, rotary base 5e5", "gdn every 3rd softmax",
		map[string]map[string]string{"softmax": {"theta": "500000", "gate": "true"}}, "arXiv 2607.07953"},
	{"kimi", "three KDA layers to one of full attention without positions (MLA there)", "3xkda,softmax",
		map[string]map[string]string{"softmax": {"rope": "false"}}, "arXiv 2510.26692"},
	{"gdn-h1", "GDN and sliding-window attention in turn", "gdn,softmax",
		map[string]map[string]string{"softmax": {"window": "2048"}}, "arXiv 2412.06464"},
	{"gdn2-h", "GDN-2 and sliding-window attention in turn", "gdn2,softmax",
		map[string]map[string]string{"softmax": {"window": "2048"}}, "arXiv 2605.22791"},
	{"gpt", "attention alone", "softmax", nil, "arXiv 1706.03762"},
	{"gpt-kalman", "attention whose last layer is a Kalman filter", "gpt: last softmax->kalman", nil, "arXiv 2602.10743"},
}

// FindHybrid returns the published stack of that name, or nil.
func FindHybrid(name string) *Hybrid {
	for _, h := range Hybrids {
		if h.Name == name {
			return h
		}
	}
	return nil
}
