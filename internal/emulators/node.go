package emulators

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// bootstrap runs a program and ends it with its standard input, which the system
// closes when the process at its other end is gone.
const bootstrap = `process.stdin.on("end", () => process.exit(0)).resume(); require(process.argv[1])`

// startLimit is how long a program may take until it is ready, on a machine
// that has much else to do.
const startLimit = 2 * time.Minute

// A node is a running Node program.
type node struct {
	// stop ends the program and waits until it is gone. It may be called again,
	// and returns the same.
	stop func() error
}

// startNode runs a program, which is a file of the modules of a directory, until
// its stop is called or this process ends. It returns when the program has
// printed a line that holds ready, and what follows that on the line. What the
// program prints on its standard error is written to log. The end of ctx ends
// the start, not what was started.
func startNode(ctx context.Context, modules, program, ready string, log io.Writer, args ...string) (n *node, after string, err error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "node", append([]string{"-e", bootstrap, "--", program}, args...)...)
	cmd.Dir = modules
	cmd.Stderr = log
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	n = &node{stop: sync.OnceValue(func() error { return end(cmd, input) })}
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	defer context.AfterFunc(limited, func() { _ = input.Close() })()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), ready); ok {
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return n, after, nil
		}
	}
	return nil, "", errors.Join(errors.New("a Node program ended, or took too long, before it was ready"), limited.Err(), n.stop())
}

// end closes a program's standard input, which ends it, and waits until it is gone.
func end(cmd *exec.Cmd, input io.Closer) error {
	_ = input.Close()
	kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("a Node program did not end well: %w", err)
	}
	return nil
}
