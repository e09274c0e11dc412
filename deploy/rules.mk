# Manifests, chart and image.

IMAGE ?= localhost/cephzone:v$(VERSION)
ENGINE = $(shell for e in podman docker; do $$e info >/dev/null 2>&1 && { echo $$e; break; }; done)

.PHONY: deploy-render
deploy-render: ## render the chart into deploy/kustomize
	@deploy/render "$$(tests/deploy/tool helm)" deploy/kustomize

.PHONY: deploy-check
deploy-check: $(PROGRAMS) ## check chart, manifests and examples with helm, kustomize, the API's types
	@BUILD=$(BUILD) tests/run deploy tests/deploy/run

.PHONY: image
image: ## build the container image, with podman or docker
	@$(if $(ENGINE),,echo "image: neither podman nor docker answers here; 'make image-root' builds and \
	proves the same file system without one" >&2; exit 1;) \
	$(ENGINE) build --tag $(IMAGE) --build-arg COMMIT=$(COMMIT) .

.PHONY: image-root
image-root: $(PROGRAMS) ## build the image's file system with mmdebstrap and run the programs in it
	@deploy/image-root $(BUILD)

.PHONY: docs
docs: $(PROGRAMS) ## write docs/flags.md and docs/metrics.md from what the programs say
	@docs/generate $(BUILD)/cephcsi $(BUILD)/cephzone docs
