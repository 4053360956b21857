/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The source of the answers to NLDEV requests, and the numbers that identify the device in them. */
#ifndef ADV_RUNTIME_PRELOAD_NLDEV_SOURCE_H
#define ADV_RUNTIME_PRELOAD_NLDEV_SOURCE_H

#include "runtime/exchange/resources.h"
#include "runtime/preload/contents.h"

#define ADV_NLDEV_INDEX	  1 /* index of the first device */
#define ADV_NLDEV_PORT	  1
#define ADV_NLDEV_LONGEST 4096 /* maximum length of a message, bytes */

/* Callbacks that read the state of the device and its objects. */
struct adv_nldev_source {
	/* Reads the present state of the devices. False: there is none. */
	bool (*device)(void *user, struct adv_contents *contents);
	/* As adv_resources_each(), for a device. */
	int (*resources)(void *user, enum adv_resource_kind kind, const char *device,
			 adv_resource_fn *fn, void *fn_user);
	bool keys; /* answers may contain L_Keys and R_Keys */
	void *user;
};

#endif
