/* Teams: a context and a stream for each device, and how fast they are linked. */
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grown.h"
#include "plan/plan.h"

#define LINK_BYTES ((size_t)16 << 20) /* of the copy that is timed */
#define HOST_BANDWIDTH 5e9            /* bytes/s of a copy between members that share the processors */

static stn_status check_devices(int count, const int *devices, stn_error *error) {
    if (count < 1 || count > TEAM_MOST || !devices)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a team of %d devices was asked for: name 1 to %d devices",
                        devices ? count : 0, TEAM_MOST);
    for (int i = 0; i < count; i++) {
        if (devices[i] == STN_DEVICE_AUTO || devices[i] < STN_DEVICE_HOST)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "member %d of a team has the device %d: use STN_DEVICE_CUDA(n) or STN_DEVICE_HOST", i,
                            devices[i]);
        if ((devices[i] == STN_DEVICE_HOST) != (devices[0] == STN_DEVICE_HOST))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "a team has GPUs or the host as members, not both: leave one kind out");
    }
    return STN_OK;
}

static stn_status open_member(stn_context_options *options, int device, team_member *member, stn_error *error) {
    options->device = device;
    STN_TRY(stn_context_create(options, &member->context, error));
    return device == STN_DEVICE_HOST ? STN_OK : stn_lane_create(member->context->device, &member->lane, error);
}

static stn_status time_copy(const team_member *to, const team_member *from, void *target, const void *source,
                            stn_timer *timer, double *seconds, stn_error *error) {
    void *const stream = stn_lane_stream(to->lane);
    for (int i = 0; i < 2; i++) { /* the first one sets up the link */
        STN_TRY(stn_timer_start(timer, stream, error));
        STN_TRY(stn_lane_copy(to->lane, target, from->lane, source, LINK_BYTES, error));
        STN_TRY(stn_timer_stop(timer, stream, seconds, error));
    }
    return STN_OK;
}

/* From the last member to the first. */
static stn_status measure_link(stn_team *team, stn_error *error) {
    const team_member *to = &team->member[0], *from = &team->member[team->count - 1];
    void *target = NULL, *source = NULL;
    stn_timer *timer = NULL;
    double seconds = 0;
    if (!to->lane || !from->lane) return STN_OK; /* members that share the processors */
    stn_status status = stn_device_alloc(to->context->device, LINK_BYTES, &target, error);
    if (status == STN_OK) status = stn_device_alloc(from->context->device, LINK_BYTES, &source, error);
    if (status == STN_OK) status = stn_timer_create(to->context->device, &timer, error);
    if (status == STN_OK) status = time_copy(to, from, target, source, timer, &seconds, error);
    stn_timer_destroy(timer);
    stn_device_free(to->context->device, target);
    stn_device_free(from->context->device, source);
    if (status == STN_OK && seconds > 0) team->link_bandwidth = (double)LINK_BYTES / seconds;
    return status;
}

stn_status stn_team_create(const stn_context_options *given, int count, const int *devices, stn_team **team,
                           stn_error *error) {
    stn_context_options options;
    if (!team) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_create needs a place for the team");
    *team = NULL;
    STN_TRY(check_devices(count, devices, error));
    STN_TRY(stn_read_grown(&stn_layout_context_options, given, &options, error));
    if (options.arch)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a team works on GPUs that are here: leave arch out");
    options.struct_size = sizeof options;
    stn_team *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a team", sizeof *made);
    made->count = count, made->on_host = devices[0] == STN_DEVICE_HOST, made->link_bandwidth = HOST_BANDWIDTH;
    stn_status status = STN_OK;
    for (int i = 0; i < count && status == STN_OK; i++)
        status = open_member(&options, devices[i], &made->member[i], error);
    for (int i = 0; i < count * count && status == STN_OK && !made->on_host; i++)
        stn_lane_link(made->member[i / count].lane, made->member[i % count].lane);
    if (status == STN_OK) status = measure_link(made, error);
    if (status == STN_OK)
        *team = made;
    else
        stn_team_destroy(made);
    return status;
}

void stn_team_destroy(stn_team *team) {
    if (!team) return;
    for (int i = 0; i < team->count; i++) {
        stn_lane_destroy(team->member[i].lane);
        stn_context_destroy(team->member[i].context);
    }
    free(team);
}

double stn_team_link_bandwidth(const stn_team *team) { return team ? team->link_bandwidth : 0; }

int stn_team_size(const stn_team *team) { return team ? team->count : 0; }

stn_context *stn_team_context(const stn_team *team, int member) {
    return team && member >= 0 && member < team->count ? team->member[member].context : NULL;
}
