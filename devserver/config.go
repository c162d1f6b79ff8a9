package devserver

import (
	"net"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/membership/static"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

// clusterName is written into the database: it must not change.
const clusterName = "active"

// serverConfig describes one node that runs every service. Metrics and
// profiling are left out: nobody asked for a port that serves them.
func serverConfig(p *ports, db *config.SQL) *config.Config {
	frontend := dialable(p.frontend)
	return &config.Config{
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(p.frontend),
			string(primitives.HistoryService):  service(p.history),
			string(primitives.MatchingService): service(p.matching),
			string(primitives.WorkerService):   service(p.worker),
		},
		PublicClient: config.PublicClient{HostPort: frontend},
		Persistence: config.Persistence{
			DefaultStore:    sqliteplugin.PluginName,
			VisibilityStore: sqliteplugin.PluginName,
			// One: all shards would share the one writer that SQLite allows.
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{sqliteplugin.PluginName: {SQL: db}},
		},
		ClusterMetadata: &cluster.Config{
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			FailoverVersionIncrement: 10,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
	}
}

func service(a *net.TCPAddr) config.Service {
	return config.Service{RPC: config.RPC{BindOnIP: a.IP.String(), GRPCPort: a.Port}}
}

// staticHosts tells the services where the others are, which saves the gossip
// protocol, its ports and the second it takes to settle.
func staticHosts(cfg *config.Config) map[primitives.ServiceName]static.Hosts {
	hosts := make(map[primitives.ServiceName]static.Hosts, len(cfg.Services))
	for name, s := range cfg.Services {
		address := dialable(&net.TCPAddr{IP: net.ParseIP(s.RPC.BindOnIP), Port: s.RPC.GRPCPort})
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(address)
	}
	return hosts
}

// unlimitedRPS is more than one machine can serve.
const unlimitedRPS = 1_000_000

// dynamicConfig holds every departure from Temporal's defaults, which are made
// for clusters of many machines. Limits on sizes keep their defaults on
// purpose: what is accepted here should be accepted by a cluster too.
//
// Sticky queries stay on, too: without them a worker gets queries with a whole
// history while it is at work on that workflow, and now and then answers them
// with a determinism error. What they cost is a wait after a worker died but
// this server did not: for ten seconds, queries and updates first try the dead
// worker, for as long as the sticky timeout says. When the server
// died with it, they do not.
var dynamicConfig = dynamicconfig.StaticClient{
	// Timers fire within this time of when they are due. The default of one
	// second would be the largest part of a job's lateness.
	dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,

	// Partitions spread a task queue over machines. On one machine they only
	// hide tasks from pollers that happen to ask at another partition.
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

	// Many jobs due in the same second are loaded page by page; the default
	// of 20 pages a second is meant for thousands of shards on a machine.
	dynamicconfig.TimerProcessorMaxPollRPS.Key():    200,
	dynamicconfig.TransferProcessorMaxPollRPS.Key(): 200,

	// A reader of timers that finds some of the same second three times is taken
	// to be stuck by default, and that second is left to a second reader, which
	// lags behind for good where hundreds fire a second. This one, which looks so
	// often, is at each second up to a hundred times.
	dynamicconfig.QueueReaderStuckCriticalAttempts.Key(): 0,

	// How soon timers that have fired are deleted, and how many are read at once.
	// SQLite goes through all those that are there whenever it looks for the next
	// ones. An execution leaves three, most of them timeouts of tasks: to look for
	// them took 4 % of the CPU at 200 executions a second.
	dynamicconfig.TimerProcessorUpdateAckInterval.Key(): time.Second,
	dynamicconfig.TimerTaskBatchSize.Key():              1000,

	// Each of these holds the lock of a workflow while it waits for the database, behind all
	// calls. Of 512, the default, calls wait for hundreds: those of a herd whose heartbeats
	// are due.
	dynamicconfig.TimerProcessorSchedulerWorkerCount.Key(): 32,

	// A namespace with more pending tasks than this is moved to a slower
	// queue, to protect the others. Here there are no others.
	dynamicconfig.QueueMoveGroupTaskCountBase.Key(): 1_000_000,

	// Workflows that sleep can be read again when they wake up; the default is
	// 128,000, of which each takes more than 20 kB. Those that are due every few
	// minutes should have room: an execution of 2,000 such jobs took 15 % more CPU
	// time with room for 1,500.
	dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 2500,

	// Tasks of one namespace are all there is. To narrow the pending ones down to
	// their namespaces has every new task look at all of them.
	dynamicconfig.QueueShrinkPredicateMaxPendingKeys.Key(): 0,

	// A burst of updates to one workflow, such as many jobs created in one
	// collection, is answered as fast as it is applied. Beyond the default of
	// 10 at a time the clients back off and retry: a hundred took 2 s instead
	// of 0.1 s.
	dynamicconfig.WorkflowExecutionMaxInFlightUpdates.Key(): 1000,

	// All clients share this limit on lists a second; the default of 10 is
	// soon reached by a few browser tabs.
	dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 200,

	// Limits that protect a shared cluster from one of its users. Here they
	// would only slow down a thousand jobs that change, or are due, at once.
	dynamicconfig.FrontendRPS.Key():                        unlimitedRPS,
	dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key(): unlimitedRPS,
	dynamicconfig.MatchingRPS.Key():                        unlimitedRPS,
	dynamicconfig.HistoryRPS.Key():                         unlimitedRPS,
	dynamicconfig.FrontendPersistenceMaxQPS.Key():          unlimitedRPS,
	dynamicconfig.MatchingPersistenceMaxQPS.Key():          unlimitedRPS,
	dynamicconfig.HistoryPersistenceMaxQPS.Key():           unlimitedRPS,

	// Nor are Temporal's own Schedules held up, by 30 starts a second, for whoever
	// uses them beside Almanac.
	dynamicconfig.SchedulerNamespaceStartWorkflowRPS.Key(): unlimitedRPS,

	// No call to Temporal's version service.
	dynamicconfig.EnableServerVersionCheck.Key(): false,
}
