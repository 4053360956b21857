/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The subsystems of a server with their backends: made of a configuration, and changed while the
 * server runs (reload.h too). One thread uses them; the shared lock is held during calls to the
 * target.
 */
#ifndef ADV_STORAGE_NVME_SERVER_SUBSYSTEMS_H
#define ADV_STORAGE_NVME_SERVER_SUBSYSTEMS_H

#include <stdio.h>

#include "storage/nvme_server/backend.h"
#include "storage/nvme_server/config.h"
#include "storage/nvme_server/worker.h"

/* An open backend, and the namespace that it belongs to. */
struct adv_nvme_disk {
	struct adv_nvme_backend *backend;
	char nqn[ADV_NVME_NQN_LEN];
	struct adv_nvme_namespace_settings settings; /* with a path of its own, and the nsid */
	bool removed;				     /* the namespace is; commands finish */
	bool configured;			     /* not by a request to the control socket */
	bool wanted;				     /* of reload.c */
};

struct adv_nvme_subsystems {
	struct adv_nvme_shared *shared;
	struct adv_nvme_disk *disks;
	size_t count;
	FILE *log; /* gets a line for each added namespace; NULL: the log has it */
};

/* Makes what the configuration names, in the target, False: `why`. */
bool adv_nvme_subsystems_create(struct adv_nvme_subsystems *s, struct adv_nvme_shared *shared,
				const struct adv_nvme_config *config,
				char why[ADV_NVME_BACKEND_WHY]);
/* Closes all backends. No command is in execution. */
void adv_nvme_subsystems_destroy(struct adv_nvme_subsystems *s);

/* Registers the memory of the backends in shared->pd, as that of later ones. No command is in
 * execution. */
void adv_nvme_subsystems_register(struct adv_nvme_subsystems *s);

/* Ends the registrations of the backends. No command is in execution. */
void adv_nvme_subsystems_deregister(struct adv_nvme_subsystems *s);

/* Makes a subsystem with its namespaces. False: `why`; what was made before the error stays. */
bool adv_nvme_subsystems_create_one(struct adv_nvme_subsystems *s,
				    const struct adv_nvme_subsystem_settings *settings,
				    char why[ADV_NVME_BACKEND_WHY]);
/* Opens a backend and adds a namespace. `configured`: as of its disk. Returns its nsid; 0: `why`.
 */
uint32_t adv_nvme_subsystems_add(struct adv_nvme_subsystems *s, const char *nqn,
				 const struct adv_nvme_namespace_settings *settings,
				 bool configured, char why[ADV_NVME_BACKEND_WHY]);
/* Removes a namespace. Its backend closes when no command uses it. False: `why`. */
bool adv_nvme_subsystems_remove(struct adv_nvme_subsystems *s, const char *nqn, uint32_t nsid,
				char why[ADV_NVME_BACKEND_WHY]);
/* Writes the name of the only subsystem. False: there is none, or several; `why`. */
bool adv_nvme_subsystems_only(struct adv_nvme_subsystems *s, char nqn[ADV_NVME_NQN_LEN],
			      char why[ADV_NVME_BACKEND_WHY]);
/* Closes the backends of removed namespaces that no command uses any more. */
void adv_nvme_subsystems_release(struct adv_nvme_subsystems *s);

#endif
