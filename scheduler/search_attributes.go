package scheduler

import (
	"errors"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
	"almanac/workflows/jobloop/state"
)

// SearchAttributes returns the search attributes that workflows are started with. The namespace must have
// them, but for those that are [Optional]. That of the next run is needed where [Options.ShowNext] asks for it.
func SearchAttributes() map[string]enums.IndexedValueType {
	attributes := map[string]enums.IndexedValueType{
		workflows.AttributeOutlineTime: enums.INDEXED_VALUE_TYPE_DATETIME,
		workflows.AttributeNextRun:     enums.INDEXED_VALUE_TYPE_DATETIME,
	}
	for _, name := range []string{
		workflows.AttributeSubscription, workflows.AttributeResourceGroup, workflows.AttributeCollection,
		workflows.AttributeJob, workflows.AttributeState, workflows.AttributeLastOutcome,
	} {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	return attributes
}

// The optional search attributes.
var (
	lastOutcome = temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome)
	outlineTime = temporal.NewSearchAttributeKeyTime(workflows.AttributeOutlineTime)
	nextRun     = temporal.NewSearchAttributeKeyTime(workflows.AttributeNextRun)
)

// Optional reports whether jobs are created also while the namespace lacks a search attribute. They do without it then.
func Optional(attribute string) bool {
	return attribute == lastOutcome.GetName() || attribute == outlineTime.GetName() || attribute == nextRun.GetName()
}

// NextRunExists says that the namespace has the search attribute of the next run. From then on jobs have it, if
// [Options.ShowNext] asks for it: those that are created, and those that a PUT or PATCH reaches. Before, those that
// exist keep it as they have it.
func (s *Service) NextRunExists() { s.nextRun.Store(true) }

// showNext has a new job show its next run, if it is to.
func (s *Service) showNext(in *state.Input) {
	if shows := s.showsNext(); shows == nil || !*shows {
		return
	}
	in.ShowNext = true
	if next := in.Snapshot().Status.NextExecutionTime; next != nil {
		in.ListedNext = next.Time
	}
}

// showsNext returns [workflows.ReplaceRequest.ShowNext].
func (s *Service) showsNext() *bool {
	if s.wantsNext && !s.nextRun.Load() {
		return nil
	}
	return new(s.wantsNext)
}

func jobAttributes(in *state.Input) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	attributes := append(collectionAttributes(in.Key.Collection),
		keyword(workflows.AttributeJob).ValueSet(job.NormalizeName(in.Key.Name)),
		keyword(workflows.AttributeState).ValueSet(string(in.Definition.State)),
		lastOutcome.ValueSet(workflows.NoOutcome), outlineTime.ValueSet(in.Created), buildIDs.ValueSet(workflows.BuildIDs()))
	if !in.ListedNext.IsZero() {
		attributes = append(attributes, nextRun.ValueSet(in.ListedNext))
	}
	return attributes
}

// buildIDs is set when a job is started. See [workflows.BuildIDs].
var buildIDs = temporal.NewSearchAttributeKeyKeywordList(workflows.AttributeBuildIDs)

// refusesBuildIDs reports whether the server does not let callers set buildIDs. Temporal (1.32) does, and means not
// to some day.
func refusesBuildIDs(err error) bool {
	_, ok := errors.AsType[*serviceerror.InvalidArgument](err)
	return ok && strings.Contains(err.Error(), buildIDs.GetName())
}

// withoutMissing returns attributes without those of lastOutcome and outlineTime that the namespace is known to lack,
// and without buildIDs if they are known to be refused.
func (s *Service) withoutMissing(a temporal.SearchAttributes) temporal.SearchAttributes {
	updates := []temporal.SearchAttributeUpdate{a.Copy()}
	if _, lacks := s.lacking.Load(lastOutcome.GetName()); lacks {
		updates = append(updates, lastOutcome.ValueUnset())
	}
	if _, lacks := s.lacking.Load(outlineTime.GetName()); lacks {
		updates = append(updates, outlineTime.ValueUnset())
	}
	if _, refused := s.lacking.Load(buildIDs.GetName()); refused {
		updates = append(updates, buildIDs.ValueUnset())
	}
	return temporal.NewSearchAttributes(updates...)
}

func collectionAttributes(k job.CollectionKey) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	return []temporal.SearchAttributeUpdate{
		keyword(workflows.AttributeSubscription).ValueSet(job.NormalizeName(k.Subscription)),
		keyword(workflows.AttributeResourceGroup).ValueSet(job.NormalizeName(k.ResourceGroup)),
		keyword(workflows.AttributeCollection).ValueSet(job.NormalizeName(k.Name)),
	}
}
