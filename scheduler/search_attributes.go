package scheduler

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
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

// RegisterSearchAttributes adds the search attributes that the namespace lacks.
func (s *Service) RegisterSearchAttributes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	operator := s.client.OperatorService()
	known, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: s.namespace})
	if err != nil {
		return fmt.Errorf("list the search attributes of namespace %q: %w", s.namespace, err)
	}
	missing := SearchAttributes()
	for name := range known.GetCustomAttributes() {
		delete(missing, name)
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: s.namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("add search attributes to namespace %q: %w", s.namespace, err)
	}
	return nil
}

func collectionAttributes(k job.CollectionKey) []temporal.SearchAttributeUpdate {
	keyword := temporal.NewSearchAttributeKeyKeyword
	return []temporal.SearchAttributeUpdate{
		keyword(workflows.AttributeSubscription).ValueSet(job.NormalizeName(k.Subscription)),
		keyword(workflows.AttributeResourceGroup).ValueSet(job.NormalizeName(k.ResourceGroup)),
		keyword(workflows.AttributeCollection).ValueSet(job.NormalizeName(k.Name)),
	}
}
