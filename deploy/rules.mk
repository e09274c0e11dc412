# Manifests, chart and image.

.PHONY: deploy-render
deploy-render: ## render the chart into deploy/kustomize
	@deploy/render "$$(tests/deploy/tool helm)" deploy/kustomize

# Kept in build/tools by name and version. From nothing: five minutes of a processor, and three on two
# of them; 730 MB of Go modules. Without Go there is nothing to build, and 'make deploy-check' says so.
.PHONY: deploy-tools
deploy-tools: ## build what deploy-check needs: helm, kustomize, hclfmt, a checker of API types
	@for tool in hclfmt kustomize helm schema; do \
		tests/deploy/tool $$tool >/dev/null || test $$? = 3 || exit 1; done

.PHONY: deploy-check
deploy-check: $(PROGRAMS) ## check chart, manifests and examples with helm, kustomize, the API's types
	@BUILD=$(BUILD) tests/run deploy tests/deploy/run

# RELEASE: the Debian release. WITH_FUSE=1: with the packages of the fuse mapper, and with the node suite,
# which needs these. From nothing, and again from nothing: the same digest.
RELEASE ?= forky
WITH_FUSE ?= 0
NODE_SUITE := $(if $(filter 1,$(WITH_FUSE)),test_node test_node_hostile)
IMAGE ?= localhost/cephzone:v$(VERSION)$(if $(filter 1,$(WITH_FUSE)),-fuse)

.PHONY: image
image: export RELEASE := $(RELEASE)
image: export WITH_FUSE := $(WITH_FUSE)
image: export NODE_SUITE := $(NODE_SUITE)
image: export IMAGE := $(IMAGE)
image: export VERSION := $(VERSION)
image: export COMMIT := $(COMMIT)
image: ## build the container image, run it, and write it to build/image
	@tests/deps image
	@deploy/image/build $(BUILD)/image
	@deploy/image/prove $(BUILD)/image

.PHONY: docs
docs: $(PROGRAMS) ## write docs/flags.md, metrics.md, man, the table of storageclass.md, the counts of conformance.md
	@docs/generate $(BUILD)/cephcsi $(BUILD)/cephzone docs

# As packagers expect it: 'make install DESTDIR=/tmp/package PREFIX=/usr'.
PREFIX ?= /usr/local
INSTALL ?= install

.PHONY: install
install: $(PROGRAMS) install-library ## install programs, the scheduling library and man pages below DESTDIR and PREFIX (/usr/local)
	$(Q)$(INSTALL) -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/sbin \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man8
	$(Q)$(INSTALL) -m 0755 $(BUILD)/cephzone $(DESTDIR)$(PREFIX)/bin/cephzone
	$(Q)ln -sf cephzone $(DESTDIR)$(PREFIX)/bin/kubectl-cephzone
	$(Q)$(INSTALL) -m 0755 $(BUILD)/cephcsi $(DESTDIR)$(PREFIX)/sbin/cephcsi
	$(Q)$(INSTALL) -m 0644 docs/man/cephzone.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	$(Q)$(INSTALL) -m 0644 docs/man/cephcsi.8 $(DESTDIR)$(PREFIX)/share/man/man8/

.PHONY: uninstall
uninstall: uninstall-library ## remove what 'make install' put there
	$(Q)rm -f $(DESTDIR)$(PREFIX)/bin/cephzone $(DESTDIR)$(PREFIX)/bin/kubectl-cephzone \
		$(DESTDIR)$(PREFIX)/sbin/cephcsi $(DESTDIR)$(PREFIX)/share/man/man1/cephzone.1 \
		$(DESTDIR)$(PREFIX)/share/man/man8/cephcsi.8
