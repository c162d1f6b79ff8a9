package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// The bundle in the repository is what the pinned packages make.
func TestTheBundleIsThatOfThePackages(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI needs Node 20 or later, with npm: the editor of the console is bundled from packages of npm")
		}
		t.Skip("npm is not installed: the bundle is not compared")
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(bundled)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not the bundle of these packages: run go run . in conformance/editor", bundled)
	}
}
