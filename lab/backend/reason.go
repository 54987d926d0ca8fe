package backend

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// wrappings are what GoMLX and PJRT put before the reason of an error.
var wrappings = regexp.MustCompile(`^(.* panicked: |failed during graph construction/compilation: |compilation failed for Exec "[^"]*": |failed to execute graph "[^"]*": |` +
	`backend "[^"]*": failed to \w+ computation "[^"]*": |graph "[^"]*" failed to compile for the backend "[^"]*": |failed to compile the program: |while creating plugin \S+ for backend "[^"]*": |PJRT error \(code=\d+\): )`)

// unwrap takes the wrappings off the first line of an error's text.
func unwrap(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	for {
		rest := wrappings.ReplaceAllString(text, "")
		if rest == text {
			return text
		}
		text = rest
	}
}

// exhausted are the words of a device without memory for arrays. Those of a
// kernel that takes more shared memory than a multiprocessor has are not.
var exhausted = regexp.MustCompile(`RESOURCE_EXHAUSTED|[Oo]ut of memory|OUT_OF_MEMORY|(CUBLAS|CUDNN)_STATUS_ALLOC_FAILED`)

// asked finds the bytes that there were not.
var asked = regexp.MustCompile(`([0-9]{4,}) ?(?:bytes|B\b)`)

// OutOfMemory tells whether an error says that the device has no memory left, and
// gives it in half a sentence, with the size that was asked for where it is known.
func OutOfMemory(err error) (says string, is bool) {
	if err == nil {
		return "", false
	}
	text := err.Error()
	if !exhausted.MatchString(text) || strings.Contains(text, "hared memory") {
		return "", false
	}
	says = "out of device memory"
	if m := asked.FindStringSubmatch(text); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			says += ": " + megabytes(n) + " more were asked for"
		}
	}
	return says, true
}

func megabytes(bytes float64) string {
	if bytes >= 1e9 {
		return fmt.Sprintf("%.1f GB", bytes/1e9)
	}
	return fmt.Sprintf("%.3g MB", bytes/1e6)
}

// lessMemory is what helps where something was computed; where only the device is
// opened, others hold its memory.
const lessMemory = "compute less at once, or see with nvidia-smi who else has memory there"

// Reason is an error of building, compiling or running a graph in one line:
// without what it is wrapped in, and with what helps where that is known.
func Reason(err error) string {
	if says, full := OutOfMemory(err); full {
		return says + "; " + lessMemory
	}
	text := unwrap(err.Error())
	if do := helps(text); do != "" {
		text += "; " + do
	}
	return text
}
