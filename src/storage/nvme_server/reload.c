/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/reload.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

static const struct adv_nvme_subsystem_settings *find_settings(const struct adv_nvme_config *config,
							       const char *nqn)
{
	for (size_t i = 0; i < config->subsystem_count; i++) {
		if (strcmp(config->subsystems[i].nqn, nqn) == 0)
			return &config->subsystems[i];
	}
	return NULL;
}

/* --- subsystems --- */

/* Removes the subsystems that the configuration does not have. */
static void remove_subsystems(struct adv_nvme_subsystems *s, const struct adv_nvme_config *config)
{
	struct adv_nvme_target *target = s->shared->target;
	struct adv_nvme_subsystem *subsystem;
	char nqn[ADV_NVME_NQN_LEN];
	unsigned n = 0;

	while ((subsystem = adv_nvme_target_subsystem(target, n)) != NULL) {
		snprintf(nqn, sizeof(nqn), "%s", adv_nvme_subsystem_nqn(subsystem));
		if (find_settings(config, nqn)) {
			n++;
			continue;
		}
		pthread_mutex_lock(&s->shared->lock);
		adv_nvme_target_remove_subsystem(subsystem);
		pthread_mutex_unlock(&s->shared->lock);
		for (size_t i = 0; i < s->count; i++)
			s->disks[i].removed |= strcmp(s->disks[i].nqn, nqn) == 0;
		adv_info("subsystem %s is removed", nqn);
	}
}

static void set_hosts(struct adv_nvme_subsystems *s,
		      const struct adv_nvme_subsystem_settings *settings)
{
	struct adv_nvme_subsystem *subsystem;
	int err;

	pthread_mutex_lock(&s->shared->lock);
	subsystem = adv_nvme_target_find_subsystem(s->shared->target, settings->nqn);
	err = adv_nvme_subsystem_set_hosts(subsystem, settings->hosts.at, settings->hosts.count);
	pthread_mutex_unlock(&s->shared->lock);
	if (err)
		adv_error("the hosts of %s stay as they were: %s", settings->nqn, strerror(err));
}

/* --- namespaces --- */

/* True if a disk is what the settings describe. */
static bool is_same(const struct adv_nvme_disk *d, const char *nqn,
		    const struct adv_nvme_namespace_settings *n)
{
	return !d->removed && !d->wanted && strcmp(d->nqn, nqn) == 0 &&
	       (n->nsid == 0 || n->nsid == d->settings.nsid) &&
	       strcmp(n->path, d->settings.path) == 0 && n->read_only == d->settings.read_only &&
	       n->buffered == d->settings.buffered && n->block_shift == d->settings.block_shift;
}

/* Finds the disk of a namespace, and marks it. */
static bool find_disk(struct adv_nvme_subsystems *s, const char *nqn,
		      const struct adv_nvme_namespace_settings *n)
{
	for (size_t i = 0; i < s->count; i++) {
		if (!is_same(&s->disks[i], nqn, n))
			continue;
		s->disks[i].wanted = s->disks[i].configured = true;
		return true;
	}
	return false;
}

/* Marks the disks that stay. Those with a number are found first: another namespace of the same
 * path may have any. missing[i]: namespace i has no disk. */
static void find_disks(struct adv_nvme_subsystems *s,
		       const struct adv_nvme_subsystem_settings *settings,
		       bool missing[ADV_NVME_LIST_MAX])
{
	const struct adv_nvme_namespace_settings *n = settings->namespaces;

	for (size_t i = 0; i < s->count; i++)
		s->disks[i].wanted = false;
	for (size_t i = 0; i < settings->namespace_count; i++)
		missing[i] = n[i].nsid != 0 && !find_disk(s, settings->nqn, &n[i]);
	for (size_t i = 0; i < settings->namespace_count; i++) {
		if (n[i].nsid == 0)
			missing[i] = !find_disk(s, settings->nqn, &n[i]);
	}
}

static void remove_unwanted(struct adv_nvme_subsystems *s, const char *nqn)
{
	char why[ADV_NVME_BACKEND_WHY];
	size_t i = 0;

	/* To remove a namespace may move the disks. */
	while (i < s->count) {
		const struct adv_nvme_disk *d = &s->disks[i++];
		uint32_t nsid = d->settings.nsid;

		if (d->removed || d->wanted || !d->configured || strcmp(d->nqn, nqn) != 0)
			continue;
		if (adv_nvme_subsystems_remove(s, nqn, nsid, why))
			i = 0;
	}
}

static void change_namespaces(struct adv_nvme_subsystems *s,
			      const struct adv_nvme_subsystem_settings *settings)
{
	bool missing[ADV_NVME_LIST_MAX];
	char why[ADV_NVME_BACKEND_WHY];

	find_disks(s, settings, missing);
	remove_unwanted(s, settings->nqn);
	for (size_t i = 0; i < settings->namespace_count; i++) {
		if (!missing[i])
			continue;
		if (adv_nvme_subsystems_add(s, settings->nqn, &settings->namespaces[i], true,
					    why) == 0)
			adv_error("a namespace of %s is missing: %s", settings->nqn, why);
	}
}

/* --- sizes --- */

static void refresh_size(struct adv_nvme_subsystems *s, struct adv_nvme_disk *d)
{
	uint64_t now = adv_nvme_backend_refresh(d->backend);
	struct adv_nvme_subsystem *subsystem;
	uint8_t shift = d->settings.block_shift;
	int err;

	pthread_mutex_lock(&s->shared->lock);
	subsystem = adv_nvme_target_find_subsystem(s->shared->target, d->nqn);
	err = adv_nvme_subsystem_grow_namespace(subsystem, d->settings.nsid, now >> shift);
	pthread_mutex_unlock(&s->shared->lock);
	if (err == EALREADY)
		return;
	if (err)
		adv_warn("namespace %u of %s keeps its size: '%s' now has %llu bytes",
			 d->settings.nsid, d->nqn, d->settings.path, (unsigned long long)now);
	else
		adv_info("namespace %u of %s has grown to %llu blocks of %u bytes",
			 d->settings.nsid, d->nqn, (unsigned long long)(now >> shift), 1u << shift);
}

void adv_nvme_reload(struct adv_nvme_subsystems *s, const struct adv_nvme_config *config)
{
	char why[ADV_NVME_BACKEND_WHY];

	remove_subsystems(s, config);
	for (size_t i = 0; i < config->subsystem_count; i++) {
		const struct adv_nvme_subsystem_settings *settings = &config->subsystems[i];

		if (adv_nvme_target_find_subsystem(s->shared->target, settings->nqn)) {
			set_hosts(s, settings);
			change_namespaces(s, settings);
		} else if (adv_nvme_subsystems_create_one(s, settings, why)) {
			adv_info("subsystem %s is added", settings->nqn);
		} else {
			adv_error("subsystem %s is incomplete: %s", settings->nqn, why);
		}
	}
	for (size_t i = 0; i < s->count; i++) {
		if (!s->disks[i].removed)
			refresh_size(s, &s->disks[i]);
	}
	adv_nvme_subsystems_release(s);
}
