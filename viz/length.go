package viz

// length is accuracy against sequence length, from the trained length upwards;
// its ticks may be named 1x, 2x, 4x, 8x. The accuracy axis always shows 0 to 1,
// so figures compare; Guides hold chance and the trained length.
var length = kind{
	name:  Length,
	x:     Axis{Label: "sequence length", Unit: "tokens", Scale: Log2},
	y:     Axis{Label: "accuracy", Unit: "fraction correct", Scale: Linear, Min: -0.03, Max: 1.03},
	build: (*Figure).means,
}
