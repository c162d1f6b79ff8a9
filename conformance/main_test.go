package conformance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// almanac is the base URL of the server under test.
var almanac string

// temporary is a directory that is removed in the end.
var temporary string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if temporary, err = os.MkdirTemp("", "almanac-conformance-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(temporary)
	if almanac = strings.TrimSuffix(os.Getenv("ALMANAC_URL"), "/"); almanac != "" {
		return m.Run(), nil
	}
	n, err := start("dev", "--data", filepath.Join(temporary, "data"), "--ui-listen", "")
	if err != nil {
		return 1, err
	}
	almanac = n.addresses["API"]
	code = m.Run()
	if err := n.stop(); err != nil {
		return 1, fmt.Errorf("almanac did not stop well: %w", err)
	}
	return code, nil
}

// build builds Almanac, once, and returns the file.
var build = sync.OnceValues(func() (binary string, err error) {
	binary = filepath.Join(temporary, "almanac")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", binary, "./cmd/almanac").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build Almanac: %w\n%s", err, out)
	}
	return binary, nil
})

// A node is a process of Almanac.
type node struct {
	addresses map[string]string // that it prints, by their names: API, Web UI, Temporal, Codec
	stop      func() error
}

// startNode starts `almanac dev` for a test, in a directory of its own.
func startNode(t *testing.T, args ...string) node {
	t.Helper()
	n, err := start(slices.Concat([]string{"dev", "--data", filepath.Join(t.TempDir(), "data")}, args)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Errorf("almanac did not stop well: %v", err)
		}
	})
	return n
}

// start runs `almanac dev` on free ports, and returns once it answers.
func start(args ...string) (n node, err error) {
	binary, err := build()
	if err != nil {
		return n, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, append(args, "--synchronous", "normal", "--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	n.stop = func() error {
		cancel()
		if err := cmd.Wait(); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return n, err
	}
	tooLong := time.AfterFunc(2*time.Minute, cancel)
	defer tooLong.Stop()
	lines := bufio.NewScanner(out)
	n.addresses = map[string]string{}
	for n.addresses["Data"] == "" && lines.Scan() { // the last one
		if name, value, ok := strings.Cut(lines.Text(), "  "); ok {
			n.addresses[name], _, _ = strings.Cut(strings.TrimSpace(value), " ")
		}
	}
	if n.addresses["API"] == "" {
		return n, errors.Join(errors.New("almanac ended, or took two minutes, without saying where its API is"), n.stop())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return n, nil
}

// patience is how long to wait for what takes a moment.
const patience = 60 * time.Second

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %s", what, patience)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
