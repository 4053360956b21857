/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JSON of all subcommands, by json-c. These functions never return NULL: a command without memory
 * says so on standard error and exits with ADV_EXIT_FAILED.
 */
#ifndef ADV_CLI_JSON_H
#define ADV_CLI_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The number of bytes of the UTF-8 character at `text` (RFC 3629); 0: it is not UTF-8. */
size_t adv_utf8_length(const char *text);

struct json_object *adv_json_object(void);
struct json_object *adv_json_array(void);
struct json_object *adv_json_number(uint64_t value);

/*
 * Names of files and interfaces may be any bytes. A byte that is not UTF-8 becomes \udc80 to
 * \udcff, from which a reader recovers it, as Python's os.fsencode() does.
 */
struct json_object *adv_json_text(const char *text);

/* value / ADV_RATIO_ONE with all nine decimals. */
struct json_object *adv_json_ratio(uint64_t value);

/* `to` takes over the reference to `value`; NULL becomes null. */
void adv_json_add(struct json_object *to, const char *key, struct json_object *value);
void adv_json_append(struct json_object *to, struct json_object *value);

void adv_json_add_number(struct json_object *to, const char *key, uint64_t value);
void adv_json_add_text(struct json_object *to, const char *key, const char *text);
/* `len` bytes in hexadecimal. */
void adv_json_add_hex(struct json_object *to, const char *key, const uint8_t *bytes, size_t len);
void adv_json_add_flag(struct json_object *to, const char *key, bool flag);

/* Add an empty object or array and return it; `to` keeps the reference. */
struct json_object *adv_json_add_object(struct json_object *to, const char *key);
struct json_object *adv_json_add_array(struct json_object *to, const char *key);

/* Both release the object. The first indents and ends with a line feed, the second writes one line
 * without one. A stream error is left in the stream. */
void adv_json_print(FILE *f, struct json_object *o);
void adv_json_print_line(FILE *f, struct json_object *o);

/* As adv_json_print_line(), safe inside the script element of an HTML page. */
void adv_json_print_in_html(FILE *f, struct json_object *o);

#endif
