/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers to requests for the objects of processes. */
#ifndef ADV_RUNTIME_PRELOAD_NLDEV_RESOURCES_H
#define ADV_RUNTIME_PRELOAD_NLDEV_RESOURCES_H

#include "runtime/preload/nldev_request.h"

/* Each function answers one command. 0 or errno. After an error the caller discards the message. */
int adv_nldev_get_summary(struct adv_nldev_request *r);
int adv_nldev_get_resource(struct adv_nldev_request *r);
int adv_nldev_list_resources(struct adv_nldev_request *r);

#endif
