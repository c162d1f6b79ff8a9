//go:build slim

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newDev(func(string) (string, bool)) *cobra.Command {
	return &cobra.Command{
		Use:   "dev",
		Short: "Not in this build, which leaves the embedded Temporal server out",
		RunE: func(*cobra.Command, []string) error {
			return errors.New(`this build has no embedded Temporal server: run "almanac api" and "almanac worker" against yours, or build without the tag slim`)
		},
	}
}
