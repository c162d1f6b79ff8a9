// Package build says what this program was built from.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Info is what a program was built from.
type Info struct {
	// of a release; otherwise "dev-" and the first 12 digits of the commit, or "dev"
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`   // in full; "" if it is not known
	Go      string `json:"go"`                 // version of Go
	SDK     string `json:"sdk"`                // version of Temporal's SDK
	Server  string `json:"server,omitempty"`   // version of the embedded Temporal server; "" if there is none
	Zones   string `json:"zoneinfo,omitempty"` // release of the time zone database that it uses
}

// Read returns the Info of this program. A release sets version and commit by its build; both may be empty.
func Read(version, commit string) Info {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		b = &debug.BuildInfo{}
	}
	return read(b, version, commit)
}

func read(b *debug.BuildInfo, version, commit string) Info {
	i := Info{Version: version, Commit: commit, Go: strings.TrimPrefix(runtime.Version(), "go")}
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" && i.Commit == "" {
			i.Commit = s.Value
		}
	}
	for _, m := range b.Deps {
		switch m.Path {
		case "go.temporal.io/sdk":
			i.SDK = strings.TrimPrefix(m.Version, "v")
		case "go.temporal.io/server":
			i.Server = strings.TrimPrefix(m.Version, "v")
		}
	}
	if i.Version == "" {
		i.Version = "dev"
		if i.Commit != "" {
			i.Version += "-" + i.Commit[:min(12, len(i.Commit))]
		}
	}
	return i
}

// String returns the Info in lines, the first of which has the version.
func (i Info) String() string {
	var text strings.Builder
	text.WriteString("version " + i.Version)
	for _, line := range []struct{ name, value string }{
		{"commit", i.Commit}, {"Go", i.Go}, {"Temporal SDK", i.SDK}, {"Temporal server", i.Server}, {"Time zones", i.Zones},
	} {
		if line.value != "" {
			fmt.Fprintf(&text, "\n  %-16s %s", line.name, line.value)
		}
	}
	return text.String()
}
