package viz

// Figures of Kaczmarz Linear Attention (arXiv 2605.08587).

var kaczmarzMQAR = Preset{
	Name: "kaczmarz-mqar", Paper: "2605.08587",
	Doc: "MQAR accuracy (0 to 1) against test length / training length, up to 8",
	frame: Figure{
		Kind:    Length,
		Title:   "MQAR beyond the training length",
		X:       Axis{Label: "test length / training length", Unit: "1", Scale: Log2},
		Y:       Axis{Label: "accuracy", Unit: "fraction correct"},
		Caption: "Hollow: published, at 8x alone; whether pairs grow with the length there is not known.",
	},
	fit: multiplesOfLength(8),
}

var kaczmarzPerplexity = Preset{
	Name: "kaczmarz-perplexity", Paper: "2605.08587",
	Doc: "perplexity (above 0) against test length / training length",
	frame: Figure{
		Kind:    Lines,
		Title:   "Perplexity beyond the training length",
		X:       Axis{Label: "test length / training length", Unit: "1", Scale: Log2},
		Y:       Axis{Label: "perplexity", Unit: "1", Scale: Log10},
		Caption: "Hollow: published, 0.4B parameters after 1B tokens of SlimPajama. Perplexities of another text or tokenizer do not compare; the order of mixers may. Hollow marks that would cover each other stand side by side.",
	},
	fit: multiplesOfLength(8),
}
