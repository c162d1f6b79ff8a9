package api

import (
	"almanac/access"
	"almanac/api/guard"
)

// permissions are what the routes need, as [guard.Permissions] has them. A route that is not here is refused to
// everyone.
var permissions = guard.Permissions{
	"GET /":             guard.Public,
	"GET /healthz":      guard.Public,
	"GET /readyz":       guard.Public,
	"GET /openapi.yaml": guard.Public,
	"GET /docs":         guard.Public,
	"GET /docs/:file":   guard.Public,
	"GET /metrics":      guard.At(access.ReadMetrics),

	"POST /previewRecurrence": guard.AtOrBelow(access.Preview),

	"GET /jobCollections":                                 guard.AtOrBelow(access.ReadCollections),
	"GET /history":                                        guard.AtOrBelow(access.ReadHistory),
	"GET /upcoming":                                       guard.AtOrBelow(access.ReadJobs),
	"GET /jobCollections/:jc":                             guard.At(access.ReadCollections),
	"PUT /jobCollections/:jc":                             guard.At(access.WriteCollections),
	"PATCH /jobCollections/:jc":                           guard.At(access.WriteCollections),
	"DELETE /jobCollections/:jc":                          guard.At(access.DeleteCollections),
	"POST /jobCollections/:jc/enable":                     guard.At(access.EnableCollections),
	"POST /jobCollections/:jc/disable":                    guard.At(access.DisableCollections),
	"POST /jobCollections/:jc/rerun":                      guard.At(access.RunJobs),
	"GET /jobCollections/:jc/operations/:id":              guard.At(access.ReadCollections),
	"GET /jobCollections/:jc/operationResults/:id":        guard.At(access.ReadCollections),
	"GET /jobCollections/:jc/notifications":               guard.At(access.ReadCollections),
	"POST /jobCollections/:jc/testNotification":           guard.At(access.RunJobs),
	"POST /jobCollections/:jc/jobs/:job/testNotification": guard.At(access.RunJobs),
	"GET /jobCollections/:jc/changes":                     guard.At(access.ReadChanges),
	"GET /jobCollections/:jc/jobs/:job/changes":           guard.At(access.ReadChanges),
	"GET /jobCollections/:jc/history":                     guard.AtOrBelow(access.ReadHistory),
	"GET /jobCollections/:jc/upcoming":                    guard.AtOrBelow(access.ReadJobs),
	"GET /jobCollections/:jc/jobs":                        guard.AtOrBelow(access.ReadJobs),
	"POST /jobCollections/:jc/jobs":                       guard.At(access.WriteJobs),
	"GET /jobCollections/:jc/jobs/:job":                   guard.At(access.ReadJobs),
	"PUT /jobCollections/:jc/jobs/:job":                   guard.At(access.WriteJobs),
	"PATCH /jobCollections/:jc/jobs/:job":                 guard.At(access.WriteJobs),
	"DELETE /jobCollections/:jc/jobs/:job":                guard.At(access.DeleteJobs),
	"POST /jobCollections/:jc/jobs/:job/run":              guard.At(access.RunJobs),
	"POST /jobCollections/:jc/jobs/:job/rerun":            guard.At(access.RunJobs),
	"POST /jobCollections/:jc/jobs/:job/skip":             guard.At(access.SkipJobs),
	"POST /jobCollections/:jc/jobs/:job/enable":           guard.At(access.EnableJobs),
	"POST /jobCollections/:jc/jobs/:job/disable":          guard.At(access.DisableJobs),
	"GET /jobCollections/:jc/jobs/:job/history":           guard.At(access.ReadHistory),
	"GET /jobCollections/:jc/jobs/:job/executions/:id":    guard.At(access.ReadHistory),
}
