/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The configuration of a target, and its text form: sections with keys, as in the scenarios of the
 * simulator. A configuration owns its texts. Messages of the control socket have the same form.
 */
#ifndef ADV_STORAGE_NVME_SERVER_CONFIG_H
#define ADV_STORAGE_NVME_SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/nvme/connect.h"
#include "storage/nvme/identify.h"

#define ADV_NVME_CONFIG_WHY   256
#define ADV_NVME_CONFIG_MAX   (1u << 20) /* bytes of a file */
#define ADV_NVME_CONFIG_COUNT 1024u	 /* most entries of each list */
#define ADV_NVME_WORKERS_MAX  64u
#define ADV_NVME_BUFFERS_MIN  (4u << 20)

struct adv_nvme_texts {
	char **at;
	size_t count;
};

struct adv_nvme_namespace_settings {
	char *path;    /* as adv_nvme_backend_open(); NULL: not given */
	uint32_t nsid; /* 0: the lowest free one */
	bool read_only;
	bool buffered; /* not O_DIRECT */
	uint8_t block_shift;
};

struct adv_nvme_subsystem_settings {
	char nqn[ADV_NVME_NQN_LEN];
	char serial[ADV_NVME_SERIAL_LEN + 1];
	struct adv_nvme_texts hosts; /* that may connect; none: all */
	struct adv_nvme_namespace_settings *namespaces;
	size_t namespace_count;
};

struct adv_nvme_config {
	struct adv_nvme_texts listen;	 /* addresses, as adv_kit_address_parse() */
	struct adv_nvme_texts referrals; /* addresses of other discovery services */
	struct adv_nvme_subsystem_settings *subsystems;
	size_t subsystem_count;
	unsigned workers;	/* 0: not given */
	size_t buffer_bytes;	/* of each worker; 0: not given */
	unsigned address_share; /* percent of all receives for an address; 0: not given */
	char *control;		/* name of the control socket; NULL: not given */
};

/* Reads a configuration from text[0..len), which may be any bytes, into *config. False: `why` is
 * one line with the number of the line and the reason, and *config is empty. */
bool adv_nvme_config_parse(const char *text, size_t len, struct adv_nvme_config *config,
			   char why[ADV_NVME_CONFIG_WHY]);
/* Reads a file. False: as above. */
bool adv_nvme_config_read(const char *path, struct adv_nvme_config *config,
			  char why[ADV_NVME_CONFIG_WHY]);
/* Checks that a target can run with it: each subsystem has its namespaces' paths. False: `why`. */
bool adv_nvme_config_complete(const struct adv_nvme_config *config, char why[ADV_NVME_CONFIG_WHY]);
void adv_nvme_config_free(struct adv_nvme_config *config);

/* The functions below append to a configuration. NULL or false: no memory. */
struct adv_nvme_subsystem_settings *adv_nvme_config_add_subsystem(struct adv_nvme_config *config);
struct adv_nvme_namespace_settings *
adv_nvme_config_add_namespace(struct adv_nvme_subsystem_settings *subsystem);
bool adv_nvme_config_add_text(struct adv_nvme_texts *texts, const char *text);

#endif
