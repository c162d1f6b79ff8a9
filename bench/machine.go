package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
)

// A machine is where the figures come from.
type machine struct {
	Date     string
	Hardware string
	System   string
	Versions string
}

// describeMachine says what it can find out.
func describeMachine(ctx context.Context) machine {
	m := machine{Date: time.Now().UTC().Format(time.DateOnly), Hardware: fmt.Sprintf("%d cores", runtime.NumCPU())}
	if infos, err := cpu.InfoWithContext(ctx); err == nil && len(infos) > 0 && infos[0].ModelName != "" {
		m.Hardware += " (" + infos[0].ModelName + ")"
	}
	if memory, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		m.Hardware += fmt.Sprintf(", %.0f GiB of memory", float64(memory.Total)/(1<<30))
	}
	m.System = runtime.GOOS + "/" + runtime.GOARCH
	if info, err := host.InfoWithContext(ctx); err == nil {
		m.System = fmt.Sprintf("%s %s, kernel %s, %s", info.Platform, info.PlatformVersion, info.KernelVersion, m.System)
	}
	m.Versions = strings.Join(versions(), ", ")
	return m
}

// compared are the modules whose versions matter.
var compared = []string{
	"go.temporal.io/server", "go.temporal.io/sdk", "modernc.org/sqlite", "github.com/robfig/cron/v3", "github.com/teambition/rrule-go",
}

func versions() []string {
	found := []string{runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return found
	}
	for _, path := range compared {
		for _, dep := range info.Deps {
			if dep.Path == path {
				found = append(found, path+" "+dep.Version)
			}
		}
	}
	return found
}
