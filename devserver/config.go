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

// clusterName must not change: it is stored in the database.
const clusterName = "active"

// serverConfig describes one node that runs every service. It has no ports for metrics and profiling.
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
			// One shard: more would share the single writer that SQLite allows.
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

// staticHosts returns the addresses of the services. Static addresses replace the gossip protocol, its
// ports and the second it takes to converge.
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

// dynamicConfig holds all departures from Temporal's defaults, which are meant for clusters of many
// machines. Size limits keep their defaults, so that a cluster accepts what is accepted here.
//
// Sticky queries stay on too. Without them a worker gets queries with a whole history while it runs that
// workflow's task, and sometimes answers with a determinism error. The price comes after a worker crash
// that this server survives: for ten seconds, queries and updates first try the crashed worker, for the
// sticky timeout each.
var dynamicConfig = dynamicconfig.StaticClient{
	// The maximum delay of a timer. The default of 1 s would be most of a job's lateness.
	dynamicconfig.TimerProcessorMaxTimeShift.Key(): 10 * time.Millisecond,

	// Partitions spread a task queue over machines. On one machine they only hide tasks from pollers of
	// another partition.
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

	// Many jobs due in the same second are loaded page by page. The default of 20 pages a second is meant
	// for thousands of shards on a machine.
	dynamicconfig.TimerProcessorMaxPollRPS.Key():    200,
	dynamicconfig.TransferProcessorMaxPollRPS.Key(): 200,

	// 0 turns this check off. By default, a reader that finds timers of the same second three times counts
	// as stuck, and a second reader gets that second; with hundreds of timers a second, it lags behind for
	// good. This server's reader looks at each second up to a hundred times, since timers fire within 10
	// ms.
	dynamicconfig.QueueReaderStuckCriticalAttempts.Key(): 0,

	// How often fired timers are deleted, and how many timers are read at once.
	dynamicconfig.TimerProcessorUpdateAckInterval.Key(): time.Second,
	dynamicconfig.TimerTaskBatchSize.Key():              1000,

	// Each of these workers holds a workflow's lock while it waits for the database, behind all calls. With
	// the default of 512, calls waited for hundreds of them when the heartbeat timers of a herd were due.
	dynamicconfig.TimerProcessorSchedulerWorkerCount.Key(): 32,

	// Above this number of pending tasks a namespace is moved to a slower queue, to protect other
	// namespaces. Here there are none.
	dynamicconfig.QueueMoveGroupTaskCountBase.Key(): 1_000_000,

	// The cache of workflows, at more than 20 kB each. Those that are due every few minutes must fit: if they are more
	// than fit, each is read again whenever it is due, since the others have been used since. Those that were loaded an
	// hour ago leave the cache, so sleeping ones do not fill it for good.
	dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 12_000,
	dynamicconfig.HistoryCacheBackgroundEvict.Key(): dynamicconfig.CacheBackgroundEvictSettings{
		Enabled:         true,
		LoopInterval:    time.Minute,
		MaxEntryPerCall: 1024,
	},

	// The cache of events. To describe a workflow, the server reads its first one, which has the job. The default of
	// 512 KiB holds some hundred; with 16 MiB, a history across 10,000 jobs took a fifth less.
	dynamicconfig.EventsCacheMaxSizeBytes.Key(): 16 << 20,

	// Narrowing pending tasks down to their namespaces makes each new task scan all of them. All tasks
	// belong to one namespace here.
	dynamicconfig.QueueShrinkPredicateMaxPendingKeys.Key(): 0,

	// Updates in flight to one workflow, such as the collection of many new jobs. Beyond the default of 10,
	// clients back off and retry: a hundred creates took 2 s instead of 0.1 s.
	dynamicconfig.WorkflowExecutionMaxInFlightUpdates.Key(): 1000,

	// A worker returns the requests of all updates in flight in one message, and the server terminates a workflow for
	// which that takes more than 4 MiB. With the default of 20 MB here, 200 concurrent changes of a job of 24 KiB did.
	dynamicconfig.WorkflowExecutionMaxInFlightUpdatePayloads.Key(): 1 << 20,

	// The limit of visibility lists per second, shared by all clients. A few browser tabs reach the default
	// of 10.
	dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 200,

	// Limits that protect a shared cluster from one of its users. Here they would only delay a thousand
	// jobs that change, or are due, at once.
	dynamicconfig.FrontendRPS.Key():                        unlimitedRPS,
	dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key(): unlimitedRPS,
	dynamicconfig.MatchingRPS.Key():                        unlimitedRPS,
	dynamicconfig.HistoryRPS.Key():                         unlimitedRPS,
	dynamicconfig.FrontendPersistenceMaxQPS.Key():          unlimitedRPS,
	dynamicconfig.MatchingPersistenceMaxQPS.Key():          unlimitedRPS,
	dynamicconfig.HistoryPersistenceMaxQPS.Key():           unlimitedRPS,

	// Temporal's own Schedules, for users who have some beside Almanac, are not limited to 30 starts a
	// second either.
	dynamicconfig.SchedulerNamespaceStartWorkflowRPS.Key(): unlimitedRPS,

	// No calls to Temporal's version check service.
	dynamicconfig.EnableServerVersionCheck.Key(): false,
}
