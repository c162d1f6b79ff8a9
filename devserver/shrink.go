package devserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"almanac/devserver/database"

	"go.temporal.io/server/common/persistence/sql/sqlplugin"
)

// How the database gives space back. SQLite uses free pages again for what is written next, so some are kept.
const (
	shrinkInterval = time.Minute // between two looks at the free pages
	// pages that one transaction gives back; the server waits for its few milliseconds.
	shrinkStep  = 64
	shrinkPause = 50 * time.Millisecond // between two transactions
	keptPages   = 2048                  // 8 MiB
	keptShare   = 16                    // or a sixteenth of all pages, if that is more
)

// A shrinker gives the unused pages of the database back to the file system. Its transactions run on the
// server's own connection: if a second one wrote, SQLite would refuse the server's transactions that had
// read before.
type shrinker struct {
	pages  *sql.DB // only reads
	server sqlplugin.AdminDB
	log    *slog.Logger
}

// newShrinker returns the shrinker of an open store.
func newShrinker(s *store, log *slog.Logger) (*shrinker, error) {
	server, ok := s.db.(sqlplugin.AdminDB)
	if !ok {
		// cannot happen with the server of go.mod
		return nil, errors.New("the server's SQLite plugin runs no statements")
	}
	pages, err := database.OpenReadOnly(s.path)
	if err != nil {
		return nil, err
	}
	return &shrinker{pages: pages, server: server, log: log}, nil
}

// run gives space back until ctx ends.
func (s *shrinker) run(ctx context.Context) {
	defer s.pages.Close()
	tick := time.NewTicker(shrinkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.shrink(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the database could not give unused space back", "error", err)
		}
	}
}

// shrink gives back the unused pages beyond those that are kept, in small steps.
func (s *shrinker) shrink(ctx context.Context) error {
	for {
		free, all, incremental, err := s.look(ctx)
		kept := max(keptPages, all/keptShare)
		if err != nil || !incremental || free <= kept {
			return err
		}
		if err := s.server.Exec(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", min(shrinkStep, free-kept))); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(shrinkPause):
		}
	}
}

// look returns how many pages are unused, how many there are, and whether unused ones can be given back: a
// database that was made before the setting keeps them until it is backed up and restored.
func (s *shrinker) look(ctx context.Context) (free, all int, incremental bool, err error) {
	var mode int
	err = s.pages.QueryRowContext(ctx, "SELECT freelist_count, page_count, auto_vacuum FROM pragma_freelist_count, "+
		"pragma_page_count, pragma_auto_vacuum").Scan(&free, &all, &mode)
	const incrementalMode = 2
	return free, all, mode == incrementalMode, err
}
