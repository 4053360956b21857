/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/subsystem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/namespace.h"

enum { BLOCK_SHIFT_MIN = 9, BLOCK_SHIFT_MAX = 16 };

int adv_nvme_subsystem_create(struct adv_nvme_target *target, const char *nqn, const char *serial,
			      bool discovery, struct adv_nvme_subsystem **out)
{
	struct adv_nvme_subsystem *s = calloc(1, sizeof(*s));

	if (!s)
		return ENOMEM;
	s->target = target;
	s->discovery = discovery;
	strncpy(s->nqn, nqn, ADV_NVME_NQN_MAX);
	strncpy(s->serial, serial, ADV_NVME_SERIAL_LEN);
	adv_list_init(&s->hosts);
	adv_list_init(&s->controllers);
	adv_list_add_tail(&target->subsystems, &s->link);
	*out = s;
	return 0;
}

static void free_hosts(struct adv_list *hosts)
{
	adv_list_for_each_safe(struct adv_nvme_allowed_host, h, hosts, link) {
		adv_list_del(&h->link);
		free(h);
	}
}

void adv_nvme_subsystem_destroy(struct adv_nvme_subsystem *subsystem)
{
	free_hosts(&subsystem->hosts);
	for (uint32_t i = 1; i <= ADV_NVME_NSID_MAX; i++)
		free(subsystem->namespaces[i]);
	adv_list_del(&subsystem->link);
	free(subsystem);
}

int adv_nvme_target_add_subsystem(struct adv_nvme_target *target, const char *nqn,
				  const char *serial, struct adv_nvme_subsystem **out)
{
	int err;

	if (!adv_nvme_nqn_valid(nqn))
		return EINVAL;
	if (adv_nvme_target_find_subsystem(target, nqn))
		return strcmp(nqn, ADV_NVME_DISCOVERY_NQN) == 0 ? EINVAL : EEXIST;
	err = adv_nvme_subsystem_create(target, nqn, serial, false, out);
	if (err == 0)
		adv_nvme_target_discovery_changed(target);
	return err;
}

struct adv_nvme_subsystem *adv_nvme_target_find_subsystem(struct adv_nvme_target *target,
							  const char *nqn)
{
	adv_list_for_each(struct adv_nvme_subsystem, s, &target->subsystems, link) {
		if (strcmp(s->nqn, nqn) == 0)
			return s;
	}
	return NULL;
}

struct adv_nvme_subsystem *adv_nvme_target_subsystem(struct adv_nvme_target *target, unsigned n)
{
	adv_list_for_each(struct adv_nvme_subsystem, s, &target->subsystems, link) {
		if (!s->discovery && n-- == 0)
			return s;
	}
	return NULL;
}

const char *adv_nvme_subsystem_nqn(const struct adv_nvme_subsystem *subsystem)
{
	return subsystem->nqn;
}

void adv_nvme_target_discovery_changed(struct adv_nvme_target *target)
{
	target->generation++;
	adv_list_for_each(struct adv_nvme_controller, c, &target->discovery->controllers, link)
		adv_nvme_controller_discovery_changed(c);
}

/* Appends a host. EINVAL, ENOMEM. */
static int add_host(struct adv_list *hosts, const char *nqn)
{
	struct adv_nvme_allowed_host *h;

	if (!adv_nvme_nqn_valid(nqn))
		return EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return ENOMEM;
	strncpy(h->nqn, nqn, ADV_NVME_NQN_MAX);
	adv_list_add_tail(hosts, &h->link);
	return 0;
}

int adv_nvme_subsystem_allow(struct adv_nvme_subsystem *subsystem, const char *host_nqn)
{
	int err = add_host(&subsystem->hosts, host_nqn);

	if (err == 0)
		adv_nvme_target_discovery_changed(subsystem->target);
	return err;
}

bool adv_nvme_subsystem_allows(const struct adv_nvme_subsystem *subsystem, const char *host_nqn)
{
	if (adv_list_empty(&subsystem->hosts))
		return true;
	adv_list_for_each(struct adv_nvme_allowed_host, h, &subsystem->hosts, link) {
		if (strcmp(h->nqn, host_nqn) == 0)
			return true;
	}
	return false;
}

static bool has_these_hosts(const struct adv_nvme_subsystem *s, char *const *nqns, size_t count)
{
	size_t i = 0;

	adv_list_for_each(struct adv_nvme_allowed_host, h, &s->hosts, link) {
		if (i == count || strcmp(h->nqn, nqns[i++]) != 0)
			return false;
	}
	return i == count;
}

int adv_nvme_subsystem_set_hosts(struct adv_nvme_subsystem *subsystem, char *const *host_nqns,
				 size_t count)
{
	struct adv_list hosts;
	int err = 0;

	if (has_these_hosts(subsystem, host_nqns, count))
		return 0;
	adv_list_init(&hosts);
	for (size_t i = 0; i < count && !err; i++)
		err = add_host(&hosts, host_nqns[i]);
	if (err) {
		free_hosts(&hosts);
		return err;
	}
	free_hosts(&subsystem->hosts);
	adv_list_move_tail(&subsystem->hosts, &hosts);
	adv_list_for_each(struct adv_nvme_controller, c, &subsystem->controllers, link) {
		if (!adv_nvme_subsystem_allows(subsystem, c->host_nqn))
			adv_nvme_controller_stop(c, "the host is no longer allowed");
	}
	adv_nvme_target_discovery_changed(subsystem->target);
	return 0;
}

static void notify_namespace(struct adv_nvme_subsystem *s, uint32_t nsid)
{
	adv_list_for_each(struct adv_nvme_controller, c, &s->controllers, link)
		adv_nvme_controller_namespace_changed(c, nsid);
}

static uint32_t lowest_free_nsid(const struct adv_nvme_subsystem *s)
{
	for (uint32_t i = 1; i <= ADV_NVME_NSID_MAX; i++) {
		if (!s->namespaces[i])
			return i;
	}
	return 0;
}

static bool is_size(uint64_t blocks, uint8_t block_shift)
{
	return blocks > 0 && blocks <= (uint64_t)INT64_MAX >> block_shift;
}

int adv_nvme_subsystem_add_namespace(struct adv_nvme_subsystem *subsystem, uint64_t now,
				     const struct adv_nvme_namespace_config *config, uint32_t *nsid)
{
	uint32_t id = config->nsid ? config->nsid : lowest_free_nsid(subsystem);
	struct adv_nvme_namespace *ns;

	if (id == 0)
		return ENOSPC;
	if (id > ADV_NVME_NSID_MAX || config->block_shift < BLOCK_SHIFT_MIN ||
	    config->block_shift > BLOCK_SHIFT_MAX || !is_size(config->blocks, config->block_shift))
		return EINVAL;
	if (subsystem->namespaces[id])
		return EEXIST;
	ns = calloc(1, sizeof(*ns));
	if (!ns)
		return ENOMEM;
	ns->nsid = id;
	ns->blocks = config->blocks;
	ns->block_shift = config->block_shift;
	ns->read_only = config->read_only;
	ns->thin = config->thin;
	memcpy(ns->uuid, config->uuid, sizeof(ns->uuid));
	ns->backend = config->backend;
	ns->subsystem = subsystem;
	adv_list_init(&ns->writing);
	adv_list_init(&ns->waiting);
	adv_list_init(&ns->link);
	subsystem->namespaces[id] = ns;
	subsystem->namespace_count++;
	*nsid = id;
	notify_namespace(subsystem, id);
	return 0;
}

int adv_nvme_subsystem_grow_namespace(struct adv_nvme_subsystem *subsystem, uint32_t nsid,
				      uint64_t blocks)
{
	struct adv_nvme_namespace *ns = adv_nvme_namespace_find(subsystem, nsid);

	if (!ns)
		return ENOENT;
	if (ns->blocks == blocks)
		return EALREADY;
	if (ns->blocks > blocks || !is_size(blocks, ns->block_shift))
		return EINVAL;
	ns->blocks = blocks;
	notify_namespace(subsystem, nsid);
	return 0;
}

static void remove_namespace(struct adv_nvme_namespace *ns)
{
	struct adv_nvme_subsystem *subsystem = ns->subsystem;

	subsystem->namespaces[ns->nsid] = NULL;
	subsystem->namespace_count--;
	ns->removed = true;
	adv_list_add_tail(&subsystem->target->removed, &ns->link);
	notify_namespace(subsystem, ns->nsid);
}

int adv_nvme_subsystem_remove_namespace(struct adv_nvme_subsystem *subsystem, uint64_t now,
					uint32_t nsid)
{
	struct adv_nvme_namespace *ns = adv_nvme_namespace_find(subsystem, nsid);

	if (!ns)
		return ENOENT;
	remove_namespace(ns);
	return 0;
}

void adv_nvme_target_remove_subsystem(struct adv_nvme_subsystem *subsystem)
{
	for (uint32_t i = 1; i <= ADV_NVME_NSID_MAX; i++) {
		if (subsystem->namespaces[i])
			remove_namespace(subsystem->namespaces[i]);
	}
	adv_list_for_each(struct adv_nvme_controller, c, &subsystem->controllers, link)
		adv_nvme_controller_stop(c, "the subsystem is removed");
	adv_list_del(&subsystem->link);
	adv_list_add_tail(&subsystem->target->leaving, &subsystem->link);
	adv_nvme_target_discovery_changed(subsystem->target);
}

static bool has_namespaces(const struct adv_nvme_subsystem *subsystem)
{
	adv_list_for_each(struct adv_nvme_namespace, ns, &subsystem->target->removed, link) {
		if (ns->subsystem == subsystem)
			return true;
	}
	return false;
}

/* Frees the removed subsystems that no controller and no command uses. */
static void free_subsystems(struct adv_nvme_target *target)
{
	adv_list_for_each_safe(struct adv_nvme_subsystem, s, &target->leaving, link) {
		if (adv_list_empty(&s->controllers) && !has_namespaces(s))
			adv_nvme_subsystem_destroy(s);
	}
}

void *adv_nvme_target_next_released(struct adv_nvme_target *target)
{
	adv_list_for_each_safe(struct adv_nvme_namespace, ns, &target->removed, link) {
		void *backend = ns->backend;

		if (ns->users > 0)
			continue;
		adv_list_del(&ns->link);
		free(ns);
		return backend;
	}
	free_subsystems(target);
	return NULL;
}
