package workflows

// The workflow that keeps which workers of an installation were there.
const (
	TypeInstallation = "Installation"
	InstallationID   = "installation" // the ID of the only one
	SignalWorker     = "worker"       // takes a presence.Worker: it is there, and is to be followed
	SignalGone       = "gone"         // takes a presence.Span: the worker stops, and no activity says so
	QueryWorkers     = "workers"      // returns a presence.State: the workers that have gone
)
