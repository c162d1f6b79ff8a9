package scheduler

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"almanac/job"
	"almanac/workflows"
)

// SearchAttributes returns the search attributes that workflows are started with. The namespace must have
// them.
func SearchAttributes() map[string]enums.IndexedValueType {
	attributes := map[string]enums.IndexedValueType{}
	for _, name := range []string{
		workflows.AttributeSubscription, workflows.AttributeResourceGroup, workflows.AttributeCollection,
		workflows.AttributeJob, workflows.AttributeState,
	} {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	return attributes
}

func collectionAttributes(k job.CollectionKey) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	return []temporal.SearchAttributeUpdate{
		keyword(workflows.AttributeSubscription).ValueSet(job.NormalizeName(k.Subscription)),
		keyword(workflows.AttributeResourceGroup).ValueSet(job.NormalizeName(k.ResourceGroup)),
		keyword(workflows.AttributeCollection).ValueSet(job.NormalizeName(k.Name)),
	}
}
