//go:build !slim

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/config"
	"almanac/devserver"
)

func runBackup(cmd *cobra.Command, file string, c *config.Config) error {
	show, end := progressOn(cmd.ErrOrStderr())
	err := devserver.Backup(cmd.Context(), c.Data, file, show)
	end()
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s  %d bytes\n", file, info.Size())
	return nil
}

func runRestore(cmd *cobra.Command, file string, c *config.Config) error {
	show, end := progressOn(cmd.ErrOrStderr())
	err := devserver.Restore(cmd.Context(), file, c.Data, c.Log, show)
	end()
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	fmt.Fprintf(c.Out, "%s  restored from %s\n", c.Data, file)
	return nil
}
