// Package emulators runs emulators of Azure for tests and examples: Azurite, Microsoft's
// emulator of Azure Storage, and a Service Bus namespace made of rhea, an implementation
// of AMQP 1.0.
//
// Both are Node programs. npm installs them once, in the versions of package-lock.json,
// in the user's cache directory. They end with the process that started them, even if
// that one is killed.
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

// Modules returns a directory whose node_modules has the packages of the emulators. A
// test that calls it is skipped if there is no Node; with CI=true it fails.
func Modules(t testing.TB) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI needs Node 20 or later, with npm: %s is not installed, and the tests with emulators of Azure must run there", program)
		}
		t.Skipf("%s is not installed: the tests with emulators of Azure are skipped; they need Node 20 or later, with npm", program)
	}
	dir, err := Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Install returns a directory whose node_modules has the packages of the emulators. The
// first call on a machine installs them, which takes about half a minute, 190 MB and
// access to the npm registry. Several processes may call it at the same time.
func Install(ctx context.Context) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a directory to install the emulators in: %w", err)
	}
	cache = filepath.Join(cache, "almanac", "peers")
	dir = filepath.Join(cache, fmt.Sprintf("%.6x", sha256.Sum256(bytes.Join([][]byte{manifest, lock}, nil))))
	if isInstalled(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return "", fmt.Errorf("install the emulators: %w", err)
	}
	unlock, err := lockFile(filepath.Join(cache, "lock"))
	if err != nil {
		return "", fmt.Errorf("install the emulators: %w", err)
	}
	defer unlock()
	if isInstalled(dir) {
		return dir, nil // by the process that had the lock
	}
	if err := install(ctx, dir); err != nil {
		return "", fmt.Errorf("install the emulators: %w", err)
	}
	return dir, nil
}

// isInstalled reports whether dir exists. It gets its name when it is complete.
func isInstalled(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// install fills a temporary directory and renames it to dir at the end, so that an
// incomplete installation is never used.
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

// lockFile waits for the exclusive lock of a file. The system releases it when the
// process ends.
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
