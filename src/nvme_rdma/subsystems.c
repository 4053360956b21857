/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nvme_rdma/subsystems.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Opens a backend. NULL: `why`. */
static struct adv_nvme_backend *open_backend(struct adv_nvme_subsystems *s,
					     const struct adv_nvme_namespace_settings *settings,
					     char why[ADV_NVME_BACKEND_WHY])
{
	/* Blocks below the size of a page would share pages between direct and buffered I/O. */
	struct adv_nvme_backend_config config = {
		.path = settings->path,
		.read_only = settings->read_only,
		.direct = !settings->buffered && settings->block_shift >= ADV_NVME_PAGE_SHIFT};
	struct adv_nvme_backend **larger =
		realloc(s->backends, (s->count + 1) * sizeof(struct adv_nvme_backend *));

	if (!larger) {
		snprintf(why, ADV_NVME_BACKEND_WHY, "no memory");
		return NULL;
	}
	s->backends = larger;
	s->backends[s->count] = adv_nvme_backend_open(&config, why);
	if (!s->backends[s->count])
		return NULL;
	if (s->shared->pd)
		adv_nvme_backend_register(s->backends[s->count], s->shared->pd);
	return s->backends[s->count++];
}

void adv_nvme_subsystems_register(struct adv_nvme_subsystems *s)
{
	for (size_t i = 0; i < s->count; i++)
		adv_nvme_backend_register(s->backends[i], s->shared->pd);
}

static void close_backend(struct adv_nvme_subsystems *s, struct adv_nvme_backend *b)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->backends[i] != b)
			continue;
		s->backends[i] = s->backends[--s->count];
		adv_nvme_backend_close(b);
		return;
	}
}

static uint32_t add(struct adv_nvme_subsystems *s, const char *nqn,
		    const struct adv_nvme_namespace_config *config, char why[ADV_NVME_BACKEND_WHY])
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

uint32_t adv_nvme_subsystems_add(struct adv_nvme_subsystems *s, const char *nqn,
				 const struct adv_nvme_namespace_settings *settings,
				 char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_backend *b = open_backend(s, settings, why);
	struct adv_nvme_namespace_config config = {.nsid = settings->nsid,
						   .block_shift = settings->block_shift,
						   .read_only = settings->read_only};
	uint32_t nsid;

	if (!b)
		return 0;
	config.blocks = adv_nvme_backend_size(b) >> settings->block_shift;
	config.thin = adv_nvme_backend_thin(b);
	config.backend = b;
	adv_nvme_backend_uuid(b, config.uuid);
	nsid = add(s, nqn, &config, why);
	if (nsid == 0) {
		close_backend(s, b);
		return 0;
	}
	if (!s->log)
		return nsid;
	fprintf(s->log, "namespace %u: %s, %llu blocks of %u bytes%s%s\n", nsid, settings->path,
		(unsigned long long)config.blocks, 1u << settings->block_shift,
		settings->read_only ? ", read only" : "",
		adv_nvme_backend_direct(b) ? ", O_DIRECT" : "");
	return nsid;
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

static bool create_subsystem(struct adv_nvme_subsystems *s,
			     const struct adv_nvme_subsystem_settings *settings,
			     char why[ADV_NVME_BACKEND_WHY])
{
	struct adv_nvme_subsystem *subsystem;
	int err = adv_nvme_target_add_subsystem(s->shared->target, settings->nqn, settings->serial,
						&subsystem);

	for (size_t i = 0; !err && i < settings->hosts.count; i++)
		err = adv_nvme_subsystem_allow(subsystem, settings->hosts.at[i]);
	if (err) {
		snprintf(why, ADV_NVME_BACKEND_WHY, "subsystem %s: %s", settings->nqn,
			 strerror(err));
		return false;
	}
	for (size_t i = 0; i < settings->namespace_count; i++) {
		if (!adv_nvme_subsystems_add(s, settings->nqn, &settings->namespaces[i], why))
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
		if (!create_subsystem(s, &config->subsystems[i], why))
			return false;
	}
	return true;
}

void adv_nvme_subsystems_destroy(struct adv_nvme_subsystems *s)
{
	for (size_t i = 0; i < s->count; i++)
		adv_nvme_backend_close(s->backends[i]);
	free(s->backends);
	s->backends = NULL;
	s->count = 0;
}
