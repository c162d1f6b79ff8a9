package system

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// BuildAlmanac builds the program almanac in a directory, in the versions of its own module. slim leaves out the
// embedded Temporal server. The working directory must be in the laboratory's module.
func BuildAlmanac(ctx context.Context, dir string, slim bool) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "almanac").Output()
	if err != nil {
		return "", fmt.Errorf("find Almanac's module (run in the directory lab): %w", err)
	}
	program := filepath.Join(dir, "almanac")
	args := []string{"build", "-C", string(bytes.TrimSpace(root)), "-o", program}
	if slim {
		args = append(args, "-tags", "slim")
	}
	return program, goCommand(ctx, append(args, "./cmd/almanac")...)
}

// buildTemporal builds Temporal's server and its tool for SQL schemas in a directory.
func buildTemporal(ctx context.Context, dir string) error {
	return goCommand(ctx, "build", "-o", dir+"/", "go.temporal.io/server/cmd/server",
		"go.temporal.io/server/cmd/tools/sql")
}

func goCommand(ctx context.Context, args ...string) error {
	if text, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %v (in the directory lab): %w\n%s", args, err, text)
	}
	return nil
}
