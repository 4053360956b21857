/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is a configuration, and requests to the control socket of a target, which are separated
 * by a byte 0xff. A part that begins with "reload" is a new configuration. Backends are not opened:
 * the links are wrapped. Checks that a configuration keeps its limits, and that as many backends
 * are open as the target has namespaces.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/nvme_server/control.h"
#include "storage/nvme_server/reload.h"

#define NQN "nqn.2026-01.test:disk"

struct adv_nvme_backend *__wrap_adv_nvme_backend_open(const struct adv_nvme_backend_config *config,
						      char why[ADV_NVME_BACKEND_WHY]);
void __wrap_adv_nvme_backend_close(struct adv_nvme_backend *b);
uint64_t __wrap_adv_nvme_backend_size(const struct adv_nvme_backend *b);
uint64_t __wrap_adv_nvme_backend_refresh(struct adv_nvme_backend *b);
bool __wrap_adv_nvme_backend_direct(const struct adv_nvme_backend *b);
bool __wrap_adv_nvme_backend_thin(const struct adv_nvme_backend *b);
void __wrap_adv_nvme_backend_uuid(const struct adv_nvme_backend *b,
				  uint8_t uuid[ADV_NVME_UUID_LEN]);
void __wrap_adv_nvme_backend_register(struct adv_nvme_backend *b, struct ibv_pd *pd);
void __wrap_adv_nvme_backend_deregister(struct adv_nvme_backend *b);

static unsigned open_backends;

/* The size is the length of the path in pages; some paths cannot be opened. */
struct adv_nvme_backend *__wrap_adv_nvme_backend_open(const struct adv_nvme_backend_config *config,
						      char why[ADV_NVME_BACKEND_WHY])
{
	uint64_t *size = malloc(sizeof(*size));

	FUZZ_CHECK(size && config->path[0] && !strpbrk(config->path, "\n"));
	if (config->path[0] == '!') {
		snprintf(why, ADV_NVME_BACKEND_WHY, "'%s' cannot be opened", config->path);
		free(size);
		return NULL;
	}
	*size = strlen(config->path) * 4096;
	open_backends++;
	return (struct adv_nvme_backend *)size;
}

void __wrap_adv_nvme_backend_close(struct adv_nvme_backend *b)
{
	open_backends--;
	free(b);
}

uint64_t __wrap_adv_nvme_backend_size(const struct adv_nvme_backend *b)
{
	return *(const uint64_t *)b;
}

/* A file of an odd number of pages has grown. */
uint64_t __wrap_adv_nvme_backend_refresh(struct adv_nvme_backend *b)
{
	uint64_t *size = (uint64_t *)b;

	*size += *size / 4096 % 2 ? 4096 : 0;
	return *size;
}

bool __wrap_adv_nvme_backend_direct(const struct adv_nvme_backend *b)
{
	return false;
}

bool __wrap_adv_nvme_backend_thin(const struct adv_nvme_backend *b)
{
	return true;
}

void __wrap_adv_nvme_backend_uuid(const struct adv_nvme_backend *b, uint8_t uuid[ADV_NVME_UUID_LEN])
{
	memset(uuid, 1, ADV_NVME_UUID_LEN);
}

/* No device is known. */
void __wrap_adv_nvme_backend_register(struct adv_nvme_backend *b, struct ibv_pd *pd)
{
	FUZZ_CHECK(false);
}

void __wrap_adv_nvme_backend_deregister(struct adv_nvme_backend *b)
{
	FUZZ_CHECK(false);
}

static void check_config(const struct adv_nvme_config *c)
{
	FUZZ_CHECK(c->workers <= ADV_NVME_WORKERS_MAX);
	FUZZ_CHECK(c->listen.count <= ADV_NVME_CONFIG_COUNT);
	for (size_t i = 0; i < c->subsystem_count; i++) {
		const struct adv_nvme_subsystem_settings *s = &c->subsystems[i];

		FUZZ_CHECK(adv_nvme_nqn_valid(s->nqn));
		FUZZ_CHECK(strlen(s->serial) <= ADV_NVME_SERIAL_LEN);
		for (size_t k = 0; k < s->namespace_count; k++)
			FUZZ_CHECK(s->namespaces[k].nsid <= ADV_NVME_LIST_MAX);
	}
}

/* Makes the target of a configuration, or one with an empty subsystem. */
static void make_target(struct adv_nvme_subsystems *s, struct adv_nvme_shared *shared,
			const uint8_t *data, size_t size)
{
	struct adv_nvme_target_config target = {0};
	struct adv_nvme_subsystem *subsystem;
	struct adv_nvme_config config;
	char why[ADV_NVME_BACKEND_WHY];

	shared->target = adv_nvme_target_create(&target);
	FUZZ_CHECK(shared->target != NULL);
	s->shared = shared;
	if (adv_nvme_config_parse((const char *)data, size, &config, why)) {
		check_config(&config);
		if (adv_nvme_config_complete(&config, why))
			adv_nvme_subsystems_create(s, shared, &config, why);
		adv_nvme_config_free(&config);
	}
	if (!adv_nvme_target_find_subsystem(shared->target, NQN))
		FUZZ_CHECK(adv_nvme_target_add_subsystem(shared->target, NQN, "1", &subsystem) ==
			   0);
}

static void handle(struct adv_nvme_subsystems *s, const char *text, size_t size)
{
	static const char verb[] = "reload\n";
	char reply[ADV_KIT_CONTROL_REPLY], why[ADV_NVME_CONFIG_WHY];
	struct adv_nvme_config config;

	if (size < strlen(verb) || memcmp(text, verb, strlen(verb)) != 0) {
		adv_nvme_control_handle(s, text, size, reply);
		FUZZ_CHECK(memchr(reply, 0, sizeof(reply)) != NULL && reply[0]);
		return;
	}
	if (!adv_nvme_config_parse(text + strlen(verb), size - strlen(verb), &config, why))
		return;
	if (adv_nvme_config_complete(&config, why))
		adv_nvme_reload(s, &config);
	adv_nvme_config_free(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct adv_nvme_shared shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct adv_nvme_subsystems s = {0};
	struct adv_nvme_target_counts counts;
	const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;

	make_target(&s, &shared, data, end ? (size_t)(end - data) : size);
	while (end) {
		size -= (size_t)(end + 1 - data);
		data = end + 1;
		end = size ? memchr(data, 0xff, size) : NULL;
		handle(&s, (const char *)data, end ? (size_t)(end - data) : size);
	}
	adv_nvme_target_count(shared.target, &counts);
	FUZZ_CHECK(counts.namespaces == open_backends && s.count == open_backends);
	adv_nvme_target_destroy(shared.target);
	adv_nvme_subsystems_destroy(&s);
	FUZZ_CHECK(open_backends == 0);
	return 0;
}
