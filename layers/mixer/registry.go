package mixer

// Registry lists the mixers; a new one joins with its line here.
var Registry = []*Kind{
	softmaxKind,
	linearKind,
	glaKind,
	simpleGLAKind,
	mamba2Kind,
	deltaNetKind,
	gdnKind,
	kaczmarzKind,
	longhornKind,
	kdaKind,
	gdn2Kind,
	freeDeltaKind,
	kalmanKind,
	mambaKind,
	longhornDiagonalKind,
	mlstmKind,
}
