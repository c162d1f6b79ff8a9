//go:build slim

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"almanac/cmd/almanac/internal/wiring"
)

// embedded says that this build has the embedded Temporal server. Help does not list the commands that need it.
const embedded = false

var errSlim = errors.New(`this build has no embedded Temporal server: run "almanac api" and "almanac worker" against yours, or build without the tag slim`)

type node struct{}

func printNode(node) {}

func logNode(node) {}

func runNode(context.Context, *wiring.Process, func(node)) error { return errSlim }

func runBackup(*cobra.Command, string, *wiring.Process) error { return errSlim }

func runRestore(*cobra.Command, string, *wiring.Process) error { return errSlim }
