package devserver

import (
	"fmt"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"almanac/devserver/database"
	"almanac/internal/files"
	"almanac/internal/telemetry"
)

// A SpaceError says that little disk space is left.
type SpaceError struct {
	Left, Least uint64 // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("the disk of the data directory has %s left, less than the %s that are kept free; make room", size(e.Left), size(e.Least))
}

// Disk returns a collector of the sizes of the database and its write-ahead log, and of the free space on their disk.
func (s *Server) Disk() prometheus.Collector {
	file := filepath.Join(s.dataDir, database.File)
	return telemetry.Disk(map[string]string{"database": file, "log": file + "-wal"},
		func() (uint64, error) { return files.Free(s.dataDir) })
}

// CheckSpace returns a [SpaceError] if less than [Options.MinFree] is left on the disk of the data directory. If the
// system does not say how much is left, it returns nil.
func (s *Server) CheckSpace() error {
	left, err := files.Free(s.dataDir)
	if err != nil || left >= s.minFree {
		return nil
	}
	return &SpaceError{Left: left, Least: s.minFree}
}

// size returns a number of bytes for people.
func size(bytes uint64) string {
	const mebi = 1 << 20
	if bytes < 10*1024*mebi {
		return fmt.Sprintf("%d MiB", bytes/mebi)
	}
	return fmt.Sprintf("%d GiB", bytes/(1024*mebi))
}
