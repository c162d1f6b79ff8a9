//go:build slim

package main

import (
	"context"
	"errors"
)

const devSummary = "Not in this build, which has no embedded Temporal server"

func runDev(context.Context, *config) error {
	return errors.New(`this build has no embedded Temporal server: run "almanac api" and "almanac worker" against yours, or build without the tag slim`)
}
