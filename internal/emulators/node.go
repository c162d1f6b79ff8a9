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

// bootstrap runs a program and ends it when its standard input is closed. The system
// closes that when this process ends.
const bootstrap = `process.stdin.on("end", () => process.exit(0)).resume(); require(process.argv[1])`

// startLimit is how long a program may take until it is ready, on a busy machine.
const startLimit = 2 * time.Minute

// A node is a running Node program.
type node struct {
	// stop ends the program and waits for its end. Further calls return the same.
	stop func() error
}

// startNode runs a program, a file of the modules in a directory, until stop is called
// or this process ends. It returns when the program has printed a line that contains
// ready; after is the rest of that line. The program's standard error is written to log.
// If ctx ends before, the start fails; after that, ctx has no effect.
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
	if err := limited.Err(); err != nil {
		return nil, "", errors.Join(errors.New("a Node program was not ready in time"), err, n.stop())
	}
	return nil, "", errors.Join(errors.New("a Node program ended before it was ready"), n.stop())
}

// end closes a program's standard input, which ends it, and waits for its end.
func end(cmd *exec.Cmd, input io.Closer) error {
	_ = input.Close()
	kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("end a Node program: %w", err)
	}
	return nil
}
