package page

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// A Machine is where the figures come from.
type Machine struct {
	Date, Hardware, System, Versions string
	Command                          string // by which the figures can be had again
}

// compared are the modules whose versions matter.
var compared = []string{
	"go.temporal.io/server", "go.temporal.io/sdk", "modernc.org/sqlite", "github.com/robfig/cron/v3",
	"github.com/teambition/rrule-go",
}

// Describe returns what it can find out. args are those of the program.
func Describe(ctx context.Context, args []string) Machine {
	m := Machine{
		Date: time.Now().UTC().Format(time.DateOnly), Hardware: fmt.Sprintf("%d cores", runtime.NumCPU()),
		System: runtime.GOOS + "/" + runtime.GOARCH, Versions: runtime.Version(),
		Command: strings.Join(append([]string{"go run . bench"}, args...), " "),
	}
	if infos, err := cpu.InfoWithContext(ctx); err == nil && len(infos) > 0 && infos[0].ModelName != "" {
		m.Hardware += " (" + infos[0].ModelName + ")"
	}
	if memory, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		m.Hardware += fmt.Sprintf(", %.0f GiB of memory", float64(memory.Total)/(1<<30))
	}
	if info, err := host.InfoWithContext(ctx); err == nil {
		m.System = fmt.Sprintf("%s %s, kernel %s, %s", info.Platform, info.PlatformVersion, info.KernelVersion,
			m.System)
	}
	info, _ := debug.ReadBuildInfo() // there always is one in a module
	for _, dep := range info.Deps {
		if slices.Contains(compared, dep.Path) {
			m.Versions += ", " + dep.Path + " " + dep.Version
		}
	}
	return m
}
