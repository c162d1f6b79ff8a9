// Package emulators runs what stands in for Azure in tests and examples: Azurite,
// Microsoft's emulator of Azure Storage, and a Service Bus namespace made of
// rhea, an implementation of AMQP 1.0.
//
// Both are Node programs. They are installed once, by npm and to the letter of
// package-lock.json, into the user's cache directory. They end with the process
// that started them, however that one ends.
package emulators

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var (
	//go:embed package.json
	manifest []byte
	//go:embed package-lock.json
	lock []byte
)

// Modules returns a directory whose node_modules holds what the peers need. A
// test that calls it is skipped where there is no Node; with CI=true it fails.
func Modules(t testing.TB) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI needs Node 20 or later, with npm: %s is not installed, and the tests against real peers have to run there", program)
		}
		t.Skipf("%s is not installed: the tests against real peers do not run; they need Node 20 or later, with npm", program)
	}
	dir, err := Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Install returns a directory whose node_modules holds what the peers need,
// after filling it where this is the first call on this machine: that takes
// about half a minute, 190 MB and access to the npm registry. Processes may call
// it at the same time.
func Install(ctx context.Context) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to install the peers: %w", err)
	}
	cache = filepath.Join(cache, "almanac", "peers")
	dir = filepath.Join(cache, fmt.Sprintf("%.6x", sha256.Sum256(bytes.Join([][]byte{manifest, lock}, nil))))
	if isInstalled(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return "", fmt.Errorf("install the peers: %w", err)
	}
	unlock, err := lockFile(filepath.Join(cache, "lock"))
	if err != nil {
		return "", fmt.Errorf("install the peers: %w", err)
	}
	defer unlock()
	if isInstalled(dir) {
		return dir, nil // by whoever had the lock
	}
	if err := install(ctx, dir); err != nil {
		return "", fmt.Errorf("install the peers: %w", err)
	}
	return dir, nil
}

// isInstalled reports whether dir is there: it appears when it is complete.
func isInstalled(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// install fills a directory beside dir and gives it its name at the end, so that
// nobody ever sees half an installation.
func install(ctx context.Context, dir string) error {
	filling, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(filling)
	err = errors.Join(
		os.WriteFile(filepath.Join(filling, "package.json"), manifest, 0o600),
		os.WriteFile(filepath.Join(filling, "package-lock.json"), lock, 0o600))
	if err != nil {
		return err
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	npm.Dir = filling
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.Rename(filling, dir)
}

// lockFile waits until this process alone holds the lock of this name. The
// system drops it when the process dies.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := waitLock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { _ = f.Close() }, nil
}
