package viz

// The figure of cross-layer routing, CLER, CLER-H and CLVR (arXiv 2607.07953).

var routingLoss = Preset{
	Name: "routing-loss", Paper: "2607.07953",
	Doc:        "loss with a router minus loss without it (nats per token), by router",
	Categories: []string{"cler", "cler-h", "clvr", "gated", "both", "attnres", "self", "wide"},
	bound:      "published gain, about 0.01",
	frame: Figure{
		Kind:    Bars,
		Title:   "Cross-layer routing: change of the loss",
		Y:       Axis{Label: "change of loss", Unit: "nats per token"},
		Caption: "Below 0 is better. Hollow: published, one seed, clvr and cler-h with 350M parameters after 1B tokens.",
	},
}
