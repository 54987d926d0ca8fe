package route

import "github.com/kalmarz/kalmarz/layers/option"

var noneKind = &Kind{
	Name: "none", Doc: "nothing is routed",
	New: func(Layers, option.Values) (Router, error) { return plain{}, nil },
}
