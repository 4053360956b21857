/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/subsystems.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* Opens a backend. NULL: `why`. */
static struct adv_nvme_disk *open_disk(struct adv_nvme_subsystems *s,
				       const struct adv_nvme_namespace_settings *settings,
				       char why[ADV_NVME_BACKEND_WHY])
{
	/* Blocks below the size of a page would share pages between direct and buffered I/O. */
	struct adv_nvme_backend_config config = {
		.path = settings->path,
		.read_only = settings->read_only,
		.direct = !settings->buffered && settings->block_shift >= ADV_NVME_PAGE_SHIFT};
	struct adv_nvme_disk disk = {.settings = *settings};
	struct adv_nvme_disk *larger =
		realloc(s->disks, (s->count + 1) * sizeof(struct adv_nvme_disk));

	if (larger)
		s->disks = larger;
	disk.settings.path = larger ? strdup(settings->path) : NULL;
	if (!disk.settings.path) {
		snprintf(why, ADV_NVME_BACKEND_WHY, "no memory");
		return NULL;
	}
	disk.backend = adv_nvme_backend_open(&config, why);
	if (!disk.backend) {
		free(disk.settings.path);
		return NULL;
	}
	if (s->shared->pd)
		adv_nvme_backend_register(disk.backend, s->shared->pd);
	s->disks[s->count] = disk;
	return &s->disks[s->count++];
}

void adv_nvme_subsystems_register(struct adv_nvme_subsystems *s)
{
	for (size_t i = 0; i < s->count; i++)
		adv_nvme_backend_register(s->disks[i].backend, s->shared->pd);
}

static void free_disk(struct adv_nvme_disk *disk)
{
	adv_nvme_backend_close(disk->backend);
	free(disk->settings.path);
}

void adv_nvme_subsystems_deregister(struct adv_nvme_subsystems *s)
{
	for (size_t i = 0; i < s->count; i++)
		adv_nvme_backend_deregister(s->disks[i].backend);
}

static void close_backend(struct adv_nvme_subsystems *s, struct adv_nvme_backend *b)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->disks[i].backend != b)
			continue;
		free_disk(&s->disks[i]);
		s->disks[i] = s->disks[--s->count];
		return;
	}
}

static uint32_t add_namespace(struct adv_nvme_subsystems *s, const char *nqn,
			      const struct adv_nvme_namespace_config *config,
			      char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_shared *shared = s->shared;
	struct adv_nvme_subsystem *subsystem;
	uint32_t nsid = 0;
	int err = ENOENT;

	pthread_mutex_lock(&shared->lock);
	subsystem = adv_nvme_target_find_subsystem(shared->target, nqn);
	if (subsystem && strcmp(nqn, ADV_NVME_DISCOVERY_NQN) != 0)
		err = adv_nvme_subsystem_add_namespace(subsystem, adv_clock_ns(), config, &nsid);
	pthread_mutex_unlock(&shared->lock);
	if (err == ENOENT)
		snprintf(why, ADV_NVME_BACKEND_WHY, "there is no subsystem %s", nqn);
	else if (err == EEXIST)
		snprintf(why, ADV_NVME_BACKEND_WHY, "namespace %u exists", config->nsid);
	else if (err)
		snprintf(why, ADV_NVME_BACKEND_WHY, "%s", strerror(err));
	return err ? 0 : nsid;
}

/* Names a new namespace: at the start in a list, later in the log. */
static void report_added(const struct adv_nvme_subsystems *s, const struct adv_nvme_disk *d,
			 uint64_t blocks)
{
	const struct adv_nvme_namespace_settings *n = &d->settings;
	char text[ADV_NVME_BACKEND_WHY];

	snprintf(text, sizeof(text), "%s, %llu blocks of %u bytes%s%s", n->path,
		 (unsigned long long)blocks, 1u << n->block_shift,
		 n->read_only ? ", read only" : "",
		 adv_nvme_backend_direct(d->backend) ? ", O_DIRECT" : "");
	if (s->log)
		fprintf(s->log, "namespace %u: %s\n", n->nsid, text);
	else
		adv_info("namespace %u of %s is added: %s", n->nsid, d->nqn, text);
}

uint32_t adv_nvme_subsystems_add(struct adv_nvme_subsystems *s, const char *nqn,
				 const struct adv_nvme_namespace_settings *settings,
				 bool configured, char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_disk *disk = open_disk(s, settings, why);
	struct adv_nvme_namespace_config config = {.nsid = settings->nsid,
						   .block_shift = settings->block_shift,
						   .read_only = settings->read_only};
	uint32_t nsid;

	if (!disk)
		return 0;
	config.blocks = adv_nvme_backend_size(disk->backend) >> settings->block_shift;
	config.thin = adv_nvme_backend_thin(disk->backend);
	config.backend = disk->backend;
	adv_nvme_backend_uuid(disk->backend, config.uuid);
	nsid = add_namespace(s, nqn, &config, why);
	if (nsid == 0) {
		close_backend(s, disk->backend);
		return 0;
	}
	snprintf(disk->nqn, sizeof(disk->nqn), "%s", nqn);
	disk->settings.nsid = nsid;
	disk->configured = configured;
	report_added(s, disk, config.blocks);
	return nsid;
}

static void mark_removed(struct adv_nvme_subsystems *s, const char *nqn, uint32_t nsid)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->disks[i].nqn, nqn) == 0 && s->disks[i].settings.nsid == nsid)
			s->disks[i].removed = true;
	}
}

bool adv_nvme_subsystems_remove(struct adv_nvme_subsystems *s, const char *nqn, uint32_t nsid,
				char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_shared *shared = s->shared;
	struct adv_nvme_subsystem *subsystem;
	int err = ENOENT;

	pthread_mutex_lock(&shared->lock);
	subsystem = adv_nvme_target_find_subsystem(shared->target, nqn);
	if (subsystem)
		err = adv_nvme_subsystem_remove_namespace(subsystem, adv_clock_ns(), nsid);
	pthread_mutex_unlock(&shared->lock);
	if (!subsystem)
		snprintf(why, ADV_NVME_BACKEND_WHY, "there is no subsystem %s", nqn);
	else if (err)
		snprintf(why, ADV_NVME_BACKEND_WHY, "the subsystem has no namespace %u", nsid);
	else
		mark_removed(s, nqn, nsid);
	if (err == 0)
		adv_info("namespace %u of %s is removed", nsid, nqn);
	adv_nvme_subsystems_release(s);
	return err == 0;
}

bool adv_nvme_subsystems_only(struct adv_nvme_subsystems *s, char nqn[ADV_NVME_NQN_LEN],
			      char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_shared *shared = s->shared;
	struct adv_nvme_subsystem *subsystem;
	unsigned count = 0;

	pthread_mutex_lock(&shared->lock);
	while ((subsystem = adv_nvme_target_subsystem(shared->target, count)) != NULL) {
		strcpy(nqn, adv_nvme_subsystem_nqn(subsystem));
		count++;
	}
	pthread_mutex_unlock(&shared->lock);
	if (count != 1)
		snprintf(why, ADV_NVME_BACKEND_WHY,
			 "the target has %u subsystems: name one by --subsystem NQN", count);
	return count == 1;
}

void adv_nvme_subsystems_release(struct adv_nvme_subsystems *s)
{
	struct adv_nvme_backend *b;

	do {
		pthread_mutex_lock(&s->shared->lock);
		b = adv_nvme_target_next_released(s->shared->target);
		pthread_mutex_unlock(&s->shared->lock);
		if (b)
			close_backend(s, b);
	} while (b);
}

bool adv_nvme_subsystems_create_one(struct adv_nvme_subsystems *s,
				    const struct adv_nvme_subsystem_settings *settings,
				    char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_subsystem *subsystem;
	int err;

	pthread_mutex_lock(&s->shared->lock);
	err = adv_nvme_target_add_subsystem(s->shared->target, settings->nqn, settings->serial,
					    &subsystem);
	if (!err)
		err = adv_nvme_subsystem_set_hosts(subsystem, settings->hosts.at,
						   settings->hosts.count);
	pthread_mutex_unlock(&s->shared->lock);
	if (err) {
		snprintf(why, ADV_NVME_BACKEND_WHY, "subsystem %s: %s", settings->nqn,
			 strerror(err));
		return false;
	}
	for (size_t i = 0; i < settings->namespace_count; i++) {
		if (!adv_nvme_subsystems_add(s, settings->nqn, &settings->namespaces[i], true, why))
			return false;
	}
	return true;
}

bool adv_nvme_subsystems_create(struct adv_nvme_subsystems *s, struct adv_nvme_shared *shared,
				const struct adv_nvme_config *config,
				char why[ADV_NVME_BACKEND_WHY])
{
	s->shared = shared;
	for (size_t i = 0; i < config->subsystem_count; i++) {
		if (!adv_nvme_subsystems_create_one(s, &config->subsystems[i], why))
			return false;
	}
	return true;
}

void adv_nvme_subsystems_destroy(struct adv_nvme_subsystems *s)
{
	for (size_t i = 0; i < s->count; i++)
		free_disk(&s->disks[i]);
	free(s->disks);
	s->disks = NULL;
	s->count = 0;
}
