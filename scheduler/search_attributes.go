package scheduler

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
)

// SearchAttributes returns the search attributes that workflows are started with. The namespace must have
// them, but for those that are [Optional].
func SearchAttributes() map[string]enums.IndexedValueType {
	attributes := map[string]enums.IndexedValueType{}
	for _, name := range []string{
		workflows.AttributeSubscription, workflows.AttributeResourceGroup, workflows.AttributeCollection,
		workflows.AttributeJob, workflows.AttributeState, workflows.AttributeLastOutcome,
	} {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	return attributes
}

// Optional reports whether jobs are created also while the namespace lacks a search attribute. They do without it then.
func Optional(attribute string) bool { return attribute == workflows.AttributeLastOutcome }

func jobAttributes(k job.Key, s job.State) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	return append(collectionAttributes(k.Collection),
		keyword(workflows.AttributeJob).ValueSet(job.NormalizeName(k.Name)),
		keyword(workflows.AttributeState).ValueSet(string(s)),
		keyword(workflows.AttributeLastOutcome).ValueSet(workflows.NoOutcome))
}

// withoutOptional returns the attributes without the optional ones.
func withoutOptional(a temporal.SearchAttributes) temporal.SearchAttributes {
	return temporal.NewSearchAttributes(a.Copy(), temporal.NewSearchAttributeKeyKeyword(workflows.AttributeLastOutcome).ValueUnset())
}

func collectionAttributes(k job.CollectionKey) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	return []temporal.SearchAttributeUpdate{
		keyword(workflows.AttributeSubscription).ValueSet(job.NormalizeName(k.Subscription)),
		keyword(workflows.AttributeResourceGroup).ValueSet(job.NormalizeName(k.ResourceGroup)),
		keyword(workflows.AttributeCollection).ValueSet(job.NormalizeName(k.Name)),
	}
}
