package route

// Registry lists the routers; a new one joins with its line here.
var Registry = []*Kind{
	noneKind,
	clerKind,
	attnresKind,
	clerHKind,
	clvrKind,
	bothKind,
	gatedKind,
	selfKind,
	wideKind,
}
