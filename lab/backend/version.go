package backend

import "fmt"

// version is that of the PJRT C API behind which a plugin is. The API grows at its
// end: a later minor version has all functions of an earlier one, in their places.
type version struct{ Major, Minor int }

const (
	// oldest is the minor version that go-xla v0.4.1 is written against: it may call
	// any function of that version's table, which has leastTable bytes.
	oldest, leastTable = 104, 1120

	// newest is the last minor version behind which fused kernels have run: a later
	// plugin may compile them no more, or be told of programs in another way.
	newest = 115
)

// usable returns an error if go-xla cannot work with a table of this version and
// of so many bytes.
func (v version) usable(table int) error {
	switch {
	case v.Major != 0 || v.Minor < oldest:
		return fmt.Errorf("it has version %s of the PJRT C API, and 0.%d or a later 0.x is needed", v, oldest)
	case table < leastTable:
		return fmt.Errorf("its table of functions has %d bytes, and that of version 0.%d has %d: it is damaged, or no plugin", table, oldest, leastTable)
	}
	return nil
}

// noKernels says why fused kernels are not put into the programs of a plugin that
// works; "" if they are.
func (v version) noKernels() string {
	if v.Minor > newest {
		return fmt.Sprintf("the plugin has version %s of the PJRT C API, and kernels have run behind 0.%d to 0.%d alone; graphs run without, with them after: %s", v, oldest, newest, install("cuda"))
	}
	return ""
}

func (v version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
