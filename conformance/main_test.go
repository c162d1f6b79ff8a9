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
	"strings"
	"testing"
	"time"
)

// almanac is the base URL of the server under test.
var almanac string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if almanac = strings.TrimSuffix(os.Getenv("ALMANAC_URL"), "/"); almanac != "" {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "almanac-conformance-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "almanac")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", binary, "./cmd/almanac").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build Almanac: %w\n%s", err, out)
	}
	url, stop, err := start(binary, filepath.Join(dir, "data"))
	if err != nil {
		return 1, err
	}
	almanac = url
	code = m.Run()
	if err := stop(); err != nil {
		return 1, fmt.Errorf("almanac did not stop well: %w", err)
	}
	return code, nil
}

// start runs Almanac and returns its URL once it answers there.
func start(binary, data string) (url string, stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "dev", "--data", data, "--synchronous", "normal",
		"--listen", "127.0.0.1:0", "--temporal-listen", "127.0.0.1:0", "--ui-listen", "")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	cmd.Stderr = os.Stderr
	stop = func() error {
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
		return "", nil, err
	}
	tooLong := time.AfterFunc(2*time.Minute, cancel)
	defer tooLong.Stop()
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "API "); ok {
			url = strings.TrimSpace(rest)
		}
	}
	if url == "" {
		return "", nil, errors.Join(errors.New("almanac ended, or took two minutes, without saying where its API is"), stop())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return url, stop, nil
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
