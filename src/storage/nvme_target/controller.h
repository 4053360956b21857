/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A controller of the target: registers, keep alive timer, asynchronous events, error log. */
#ifndef ADV_STORAGE_NVME_TARGET_CONTROLLER_H
#define ADV_STORAGE_NVME_TARGET_CONTROLLER_H

#include "storage/nvme_target/state.h"

/* Makes a controller with a new id. NULL: there are too many, or there is no memory. */
struct adv_nvme_controller *adv_nvme_controller_create(struct adv_nvme_subsystem *subsystem,
						       const struct adv_nvme_connect_data *data);
struct adv_nvme_controller *adv_nvme_controller_find(struct adv_nvme_subsystem *subsystem,
						     uint16_t cntlid);
/* Frees a controller, and has its I/O queues closed. Its admin queue has been closed. */
void adv_nvme_controller_destroy(struct adv_nvme_controller *c);
/* Removes a closed queue from its controller, if it has one. Without its admin queue a controller
 * is destroyed. */
void adv_nvme_controller_remove_queue(struct adv_nvme_queue *queue);

/* Reads a property. False: there is none at this offset with this size. */
bool adv_nvme_controller_get(const struct adv_nvme_controller *c,
			     struct adv_nvme_property_access *access);
/* Writes a property: only CC can be written. False: as above. */
bool adv_nvme_controller_set(struct adv_nvme_controller *c, uint64_t now,
			     const struct adv_nvme_property_access *access);
/* True if the host has requested a shutdown that is not complete. */
bool adv_nvme_controller_shutting_down(const struct adv_nvme_controller *c);
/* Completes a shutdown. */
void adv_nvme_controller_shut_down(struct adv_nvme_controller *c);
bool adv_nvme_controller_ready(const struct adv_nvme_controller *c);

/* Sets the keep alive timeout in ms, rounded up to the granularity, and starts the timer. 0: none;
 * a discovery controller then has one of 2 minutes, which each command restarts. */
void adv_nvme_controller_set_kato(struct adv_nvme_controller *c, uint64_t now, uint32_t kato);
void adv_nvme_controller_keep_alive(struct adv_nvme_controller *c, uint64_t now);
/* Stops a controller: it fails, and its connections close. `why`, which stays valid, is for the
 * report. */
void adv_nvme_controller_stop(struct adv_nvme_controller *c, const char *why);

/* Notes that a namespace has been added, removed or changed. */
void adv_nvme_controller_namespace_changed(struct adv_nvme_controller *c, uint32_t nsid);
void adv_nvme_controller_discovery_changed(struct adv_nvme_controller *c);
/* Answers asynchronous event requests as far as there are events. */
void adv_nvme_controller_report_events(struct adv_nvme_controller *c);
/* The host has read the log page of an event: the event may be reported again. */
void adv_nvme_controller_unmask(struct adv_nvme_controller *c, uint8_t event);
/* Parks an asynchronous event request. False: the controller has ADV_NVME_AER_MAX of them. */
bool adv_nvme_controller_park(struct adv_nvme_controller *c, struct adv_nvme_request *request);

#endif
