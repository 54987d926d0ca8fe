package viz

// Figures of Kalman Linear Attention (arXiv 2602.10743).

var kalmanA5 = Preset{
	Name: "kalman-a5", Paper: "2602.10743",
	Doc:   "smallest depth (layers, +Inf if unsolved) at which a seed solves words of A5, against their length",
	bound: "kalman, published: at most 2",
	frame: Figure{
		Kind:  Depth,
		Title: "Depth that solves words of A5",
		X: Axis{Label: "length of the word", Unit: "elements of A5", Scale: Linear, Min: 2.4, Max: 20.6, Ticks: []Tick{
			{3, "3"}, {4, ""}, {5, ""}, {6, "6"}, {7, ""}, {8, ""}, {9, "9"}, {10, ""}, {11, ""}, {12, "12"}, {14, ""}, {16, "16"}, {18, ""}, {20, "20"}}},
		Y:       Axis{Label: "smallest depth", Unit: "layers", Scale: Linear, Max: 4},
		Caption: "Solved: accuracy over all positions of at least 90 %.",
	},
}

// mad are the six tasks of mechanistic architecture design.
var mad = []string{"compression", "fuzzy recall", "in-context recall", "memorization", "noisy recall", "selective copy"}

var kalmanMAD = Preset{
	Name: "kalman-mad", Paper: "2602.10743",
	Doc:        "accuracy (0 to 1) on the tasks of MAD",
	Categories: mad,
	frame: Figure{
		Kind:    Bars,
		Title:   "MAD: accuracy by task",
		Y:       Axis{Label: "accuracy", Unit: "fraction correct", Min: 0, Max: 1.03},
		Caption: "Hollow: published, at each task's own setting, as quoted in b-vitamins/slinoss; KLA+ reads out probabilistically.",
	},
}

var kalmanOU = Preset{
	Name: "kalman-ou", Paper: "2602.10743",
	Doc:        "accuracy (0 to 1) on the tasks of MAD with and without process noise",
	Categories: mad,
	frame: Figure{
		Kind:    Bars,
		Title:   "Kalman filter with and without process noise",
		Y:       Axis{Label: "accuracy", Unit: "fraction correct", Min: 0, Max: 1.03},
		Caption: "Hollow: published, at each task's own setting, as quoted in b-vitamins/slinoss.",
	},
}
