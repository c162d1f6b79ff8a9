//go:build !slim

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"almanac/cmd/almanac/internal/wiring"
	"almanac/devserver/database"
)

func runBackup(cmd *cobra.Command, file string, p *wiring.Process) error {
	show, end := progressOn(cmd.ErrOrStderr())
	err := database.Backup(cmd.Context(), p.Data, file, show)
	end()
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.Out, "%s  %d bytes\n", file, info.Size())
	return nil
}

func runRestore(cmd *cobra.Command, file string, p *wiring.Process) error {
	show, end := progressOn(cmd.ErrOrStderr())
	err := database.Restore(cmd.Context(), file, p.Data, p.Log, show)
	end()
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	fmt.Fprintf(p.Out, "%s  restored from %s\n", p.Data, file)
	return nil
}

// progressOn returns a function that shows on a terminal how much is written, and one that ends the line. Elsewhere
// they do nothing.
func progressOn(w io.Writer) (show func(written, total int64), end func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func(int64, int64) {}, func() {}
	}
	const mebi = 1 << 20
	shown := false
	return func(written, total int64) {
			shown = true
			fmt.Fprintf(w, "\r%d of %d MiB (%d %%) ", written/mebi, total/mebi, 100*written/max(total, 1))
		}, func() {
			if shown {
				fmt.Fprintln(w)
			}
		}
}
